// A change inside its card: the lines that go and come, and the way to the editor's own diff view.
import type { Diff, ToolItem } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';
import { diffLines, hunks, type Line } from './diff_lines.ts';

const MOST_LINES = 24;
const known = new WeakMap<Diff, Line[]>();

function linesOf(diff: Diff): Line[] {
  let lines = known.get(diff);
  if (!lines) known.set(diff, (lines = diffLines(diff.oldText, diff.newText)));
  return lines;
}

/** Returns how many lines come and go. */
export function diffStat(diff: Diff): HTMLElement {
  const lines = linesOf(diff);
  const count = (sign: Line['sign']): number => lines.filter((line) => line.sign === sign).length;
  const [more, less] = [count('+'), count('-')];
  const words = `${more} lines added, ${less} removed`;
  const minus = less > 0 ? h('span', { class: 'minus' }, `−${less}`) : null;
  return h('span', { class: 'stat', title: words, 'aria-label': words }, h('span', { class: 'plus' }, `+${more}`), minus);
}

export function diffElement(item: ToolItem, diff: Diff, index: number): HTMLElement {
  const name = diff.path.split(/[/\\]/).at(-1) ?? diff.path;
  const open = h(
    'button',
    { type: 'button', class: 'link diff-open', 'aria-label': `Open the diff of ${name}`, onclick: () => post({ type: 'diff', item: item.id, index }) },
    icon('diff'),
    'Open diff',
  );
  const show = (): void => post({ type: 'place', path: diff.path, line: item.places[0]?.line ?? null });
  const file = h('button', { type: 'button', class: 'link diff-file', title: diff.path, onclick: show }, name);
  const shown = hunks(linesOf(diff));
  const rows = shown.slice(0, MOST_LINES).map(row);
  if (shown.length > MOST_LINES) rows.push(h('div', { class: 'diff-more' }, `… ${shown.length - MOST_LINES} more lines`));
  const lines = h('div', { class: 'diff-lines', role: 'group', 'aria-label': `Change of ${name}` }, ...rows);
  return h('div', { class: 'diff' }, h('div', { class: 'diff-head' }, file, open), lines);
}

function row(line: Line | null): HTMLElement {
  if (line === null) return h('div', { class: 'diff-gap' }, '⋯');
  const kind = line.sign === '+' ? 'came' : line.sign === '-' ? 'went' : 'same';
  return h('div', { class: `diff-line ${kind}` }, h('span', { class: 'sign' }, line.sign), line.text || ' ');
}
