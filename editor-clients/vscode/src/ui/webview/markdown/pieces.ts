// Markdown cut into pieces that are drawn once and left alone: top-level blocks, and of what grows long its finished part.
// HTML in the text is shown as text, so that nothing of an answer is markup of its own. Pure: knows no page.
import MarkdownIt from 'markdown-it';

export interface HtmlPiece {
  readonly kind: 'html';
  readonly from: number;
  readonly html: string;
  /** Whether it goes on with the same paragraph or list as the piece before. */
  readonly joined: boolean;
}

export interface CodePiece {
  readonly kind: 'code';
  readonly from: number;
  /** Where the code's own lines begin. */
  readonly body: number;
  readonly language: string;
  readonly code: string;
  readonly fence: string;
  readonly open: boolean;
}

export type Piece = HtmlPiece | CodePiece;
type Token = ReturnType<MarkdownIt['parse']>[number];

const LONG_PARAGRAPH = 30;
const LONG_LIST = 12;
const KEPT = 4;

export const md = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
md.disable(['image']);
for (const cell of ['th_open', 'td_open']) {
  // Styles in attributes are forbidden by the page's policy: alignment is a class.
  md.renderer.rules[cell] = (tokens, at, options, _, self) => {
    const token = tokens[at]!;
    const side = /text-align:(\w+)/.exec(token.attrGet('style') ?? '')?.[1];
    token.attrs = side ? [['class', `to-${side}`]] : null;
    return self.renderToken(tokens, at, options);
  };
}

/** Returns the pieces of a text whose first line begins a block; `from` counts characters of the text. */
export function pieces(text: string): Piece[] {
  const tokens = md.parse(text, {});
  const starts = lineStarts(text);
  const found: Piece[] = [];
  for (const block of blocks(tokens)) found.push(...piecesOf(block, text, starts));
  return found;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function blocks(tokens: readonly Token[]): Token[][] {
  const found: Token[][] = [];
  let block: Token[] = [];
  for (const token of tokens) {
    block.push(token);
    if (token.level !== 0 || token.nesting === 1) continue;
    found.push(block);
    block = [];
  }
  return found;
}

function piecesOf(block: Token[], text: string, starts: readonly number[]): Piece[] {
  const [first] = block;
  const [from = 0, to = 0] = first?.map ?? [];
  const at = (line: number): number => starts[line] ?? text.length;
  if (first?.type === 'fence') return [codePiece(first, at(from), at(from + 1), to - from > 1 ? text.slice(at(to - 1), at(to)) : '')];
  const cut = cutLine(block, from, to);
  const whole = (start: number, joined: boolean, tokens: Token[]): HtmlPiece => ({
    kind: 'html',
    from: start,
    html: md.renderer.render(tokens, md.options, {}),
    joined,
  });
  if (cut === null) return [whole(at(from), false, block)];
  const parse = (start: number, end: number): Token[] => md.parse(text.slice(start, end), {});
  return [whole(at(from), false, parse(at(from), at(cut))), whole(at(cut), true, parse(at(cut), at(to)))];
}

/** Returns the line before which a block that grew long can be cut, or null. */
function cutLine(block: Token[], from: number, to: number): number | null {
  const type = block[0]?.type;
  if (type === 'paragraph_open') return to - from > LONG_PARAGRAPH ? to - KEPT : null;
  if (type !== 'bullet_list_open' && type !== 'ordered_list_open') return null;
  const items = block.filter((token) => token.type === 'list_item_open' && token.level === 1);
  return items.length > LONG_LIST ? (items.at(-1)?.map?.[0] ?? null) : null;
}

function codePiece(token: Token, from: number, body: number, lastLine: string): CodePiece {
  const last = lastLine.trim();
  const closed = last.startsWith(token.markup) && last === token.markup[0]?.repeat(last.length);
  const language = token.info.trim().split(/\s+/)[0] ?? '';
  return { kind: 'code', from, body, language, code: token.content, fence: token.markup, open: !closed };
}
