// What the person is asked about a call: why, and the answers as buttons.
import type { Ask, AskOption, ToolItem } from '../../../session/items.ts';
import { h } from '../dom.ts';
import { post } from '../host.ts';
import { md } from '../markdown/pieces.ts';

export function askElement(item: ToolItem, ask: Ask): HTMLElement {
  const words = h('div', { class: 'ask-text md' });
  words.innerHTML = md.render(withoutRepeats(ask.text, item));
  const single = ask.options.filter((option) => option.kind === 'allow_once').length === 1;
  const buttons = ask.options.map((option, at) => button(ask, option, at, single));
  return h('div', { class: 'ask', role: 'group', 'aria-label': `Permission: ${item.title}` }, words, h('div', { class: 'ask-buttons' }, ...buttons));
}

/** Makes a button; the one way to say yes stands out, choices of a question are alike. */
function button(ask: Ask, option: AskOption, at: number, single: boolean): HTMLElement {
  const kind = option.kind === 'allow_once' ? (single ? 'primary' : 'secondary') : option.kind === 'allow_always' ? 'tertiary' : 'secondary';
  return h(
    'button',
    {
      type: 'button',
      class: `button ${kind}`,
      'data-ask': ask.id,
      'data-option': option.id,
      title: `${option.name} (Alt+${at + 1})`,
      onclick: () => post({ type: 'answer', ask: ask.id, option: option.id }),
    },
    option.name,
  );
}

/** Returns the words without blocks that say again what the card shows: the command, the file. */
function withoutRepeats(text: string, item: ToolItem): string {
  const shown = new Set([item.title.trim(), ...item.places.map((place) => place.path), ...item.diffs.map((diff) => diff.path)]);
  return text.replaceAll(/```\n([\s\S]*?)\n```/g, (whole, inner: string) => (shown.has(inner.trim()) ? '' : whole));
}

/** Answers the first open question by the number of its button. Returns whether there was one. */
export function answerByNumber(root: HTMLElement, number: number): boolean {
  const first = root.querySelector('.ask-buttons');
  const chosen = first?.children[number - 1];
  if (!(chosen instanceof HTMLButtonElement)) return false;
  chosen.click();
  return true;
}
