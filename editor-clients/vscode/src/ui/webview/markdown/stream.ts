// Markdown as it comes: each step parses from the last unfinished block on and draws what is new, never all of it.
import { h } from '../dom.ts';
import { CodeBlock } from './code.ts';
import { pieces, type CodePiece, type Piece } from './pieces.ts';

/** How much is parsed in one step, so that a long text that comes at once does not hold up the page. */
const STEP = 4_000;
const MANY_BLOCKS = 60;

interface Last {
  readonly piece: Piece;
  readonly element: HTMLElement;
  readonly code: CodeBlock | null;
}

export class MarkdownView {
  readonly element = h('div', { class: 'md' });
  private text = '';
  /** Where the last block begins. */
  private start = 0;
  /** How much of the text is drawn. */
  private drawn = 0;
  private last: Last | null = null;

  get pending(): boolean {
    return this.drawn < this.text.length;
  }

  set(text: string): void {
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
  }

  grow(text: string): void {
    this.text += text;
  }

  /** Draws one step; returns whether all is drawn. */
  draw(): boolean {
    if (!this.pending) return true;
    const end = Math.min(this.text.length, this.drawn + STEP);
    if (!this.growCode(end)) this.drawBlocks(end);
    this.drawn = end;
    if (this.element.childElementCount > MANY_BLOCKS) this.element.classList.add('long');
    return !this.pending;
  }

  /** Adds to a block of code that is still open, without parsing. False where its end may have come. */
  private growCode(end: number): boolean {
    const { piece, code } = this.last ?? {};
    if (piece?.kind !== 'code' || !piece.open || !code) return false;
    const body = this.start + (piece as CodePiece).body;
    const line = Math.max(body, this.text.lastIndexOf('\n', this.drawn - 1) + 1);
    if (closes(this.text.slice(line, end), piece.fence)) return false;
    code.set(this.text.slice(body, end));
    return true;
  }

  private drawBlocks(end: number): void {
    const found = pieces(this.text.slice(this.start, end));
    found.forEach((piece, at) => {
      const reused = at === 0 ? this.reuse(piece) : null;
      this.last = reused ?? this.append(piece);
    });
    const last = found.at(-1);
    if (!last || !this.last) return;
    const from = last.from;
    this.start += from;
    this.last = { ...this.last, piece: shifted(last, from) };
  }

  /** Draws a piece over the element that showed its earlier state. */
  private reuse(piece: Piece): Last | null {
    const { last } = this;
    if (!last || last.piece.kind !== piece.kind) return this.dropLast();
    if (piece.kind === 'code') {
      if (!last.code || (last.piece as CodePiece).language !== piece.language) return this.dropLast();
      last.code.set(piece.code);
    } else if (last.piece.kind === 'html' && last.piece.html !== piece.html) {
      last.element.innerHTML = piece.html;
    }
    return { ...last, piece };
  }

  private dropLast(): null {
    this.last?.element.remove();
    this.last = null;
    return null;
  }

  private append(piece: Piece): Last {
    const code = piece.kind === 'code' ? new CodeBlock(piece.language) : null;
    const element = code?.element ?? h('div', { class: piece.kind === 'html' && piece.joined ? 'block joined' : 'block' });
    if (piece.kind === 'code') code?.set(piece.code);
    else element.innerHTML = piece.html;
    this.element.append(element);
    return { piece, element, code };
  }

  private reset(): void {
    this.element.replaceChildren();
    this.start = 0;
    this.drawn = 0;
    this.last = null;
  }
}

function shifted(piece: Piece, by: number): Piece {
  return piece.kind === 'code' ? { ...piece, from: 0, body: piece.body - by } : { ...piece, from: 0 };
}

function closes(text: string, fence: string): boolean {
  const mark = fence[0] === '~' ? '~' : '`';
  return new RegExp(`^ {0,3}${mark}{${fence.length},}`, 'm').test(text);
}
