// An answer, and a thought that can be folded away.
import type { Item, TextItem } from '../../../session/items.ts';
import type { Looks } from '../../shared/messages.ts';
import { h, icon } from '../dom.ts';
import { MarkdownView } from '../markdown/stream.ts';
import type { ItemView } from './view.ts';

export class AnswerView implements ItemView {
  readonly element: HTMLElement;
  private readonly markdown = new MarkdownView();

  constructor(item: TextItem) {
    this.element = h('article', { class: 'item answer', 'aria-label': 'Answer' }, this.markdown.element);
    this.put(item);
  }

  put(item: Item): void {
    if (item.kind !== 'answer') return;
    this.markdown.set(item.text);
    this.element.classList.toggle('open', item.open);
  }

  grow(text: string): void {
    this.markdown.grow(text);
  }

  draw(): boolean {
    return this.markdown.draw();
  }
}

export class ThoughtView implements ItemView {
  readonly element: HTMLElement;
  private readonly markdown = new MarkdownView();
  private readonly head: HTMLButtonElement;
  private readonly label = h('span', { class: 'thought-label' });
  private readonly looks: () => Looks;
  /** What the person chose; null while the thought follows the setting. */
  private chosen: boolean | null = null;
  private open = true;

  constructor(item: TextItem, looks: () => Looks) {
    this.looks = looks;
    this.head = h('button', { type: 'button', class: 'thought-head', onclick: () => this.toggle() }, icon('chevron', 'chevron'), this.label);
    const body = h('div', { class: 'thought-body' }, this.markdown.element);
    this.element = h('section', { class: 'item thought', 'aria-label': 'Thought' }, this.head, body);
    this.put(item);
  }

  put(item: Item): void {
    if (item.kind !== 'thought') return;
    this.open = item.open;
    this.markdown.set(item.text);
    this.label.textContent = item.open ? 'Thinking…' : `Thought${brief(item.text)}`;
    this.element.classList.toggle('open', item.open);
    this.show();
  }

  grow(text: string): void {
    this.markdown.grow(text);
  }

  draw(): boolean {
    return this.markdown.draw();
  }

  private toggle(): void {
    this.chosen = this.head.getAttribute('aria-expanded') !== 'true';
    this.show();
  }

  private show(): void {
    const { thoughts } = this.looks();
    const expanded = this.chosen ?? (thoughts === 'expanded' || (thoughts === 'collapsed' && this.open));
    this.head.setAttribute('aria-expanded', String(expanded));
    this.element.classList.toggle('hidden', thoughts === 'hidden');
  }
}

/** Returns the beginning of a thought as one line, for the folded form. */
function brief(text: string): string {
  const line = text.replaceAll(/[*_`#]/g, '').trim().split('\n')[0] ?? '';
  if (!line) return '';
  return `: ${line.length > 90 ? `${line.slice(0, 89)}…` : line}`;
}
