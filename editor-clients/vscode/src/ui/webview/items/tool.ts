// A tool call as a card: what it does and how far it is, then its diffs, its output, its words, and what is asked.
import type { Item, ToolItem } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';
import { MarkdownView } from '../markdown/stream.ts';
import { askElement } from './ask.ts';
import { diffElement, diffStat } from './diff.ts';
import { TerminalView } from './terminal.ts';
import type { ItemView } from './view.ts';

const STATUS: Record<ToolItem['status'], [icon: string, words: string]> = {
  pending: ['spinner', 'is being prepared'],
  in_progress: ['spinner', 'runs'],
  completed: ['check', 'done'],
  failed: ['cross', 'failed'],
};

export class ToolView implements ItemView {
  readonly element = h('section', { class: 'item tool' });
  private readonly head = h('button', { type: 'button', class: 'tool-head' });
  private readonly body = h('div', { class: 'tool-body' });
  private terminal: TerminalView | null = null;
  private shownParts = '';
  private expanded: boolean | null = null;
  private item: ToolItem;
  private texts: MarkdownView[] = [];

  constructor(item: ToolItem) {
    this.item = item;
    this.head.addEventListener('click', () => {
      this.expanded = !this.isExpanded();
      this.showExpanded();
    });
    this.element.append(this.head, this.body);
    this.put(item);
  }

  put(item: Item): void {
    if (item.kind !== 'tool') return;
    this.item = item;
    this.element.className = `item tool ${item.status} does-${item.does}${item.ask ? ' asking' : ''}`;
    this.element.setAttribute('aria-label', `${item.title}, ${item.ask ? 'waits for your answer' : STATUS[item.status][1]}`);
    this.drawHead();
    this.drawBody();
    this.showExpanded();
  }

  output(text: string): void {
    this.terminal?.add(text);
  }

  draw(): boolean {
    this.terminal?.draw();
    return this.texts.every((view) => view.draw());
  }

  private drawHead(): void {
    const { item } = this;
    const [mark, words] = item.ask ? ['warning', 'waits for your answer'] : STATUS[item.status];
    const title = h('span', { class: item.does === 'execute' ? 'tool-title mono' : 'tool-title' }, item.title || item.name);
    const state = h('span', { class: 'tool-state', title: words }, icon(mark, mark === 'spinner' ? 'spin' : ''), h('span', { class: 'sr' }, words));
    this.head.replaceChildren(icon(item.name === 'todo' ? 'plan' : item.does, 'tool-icon'), title, ...this.facts(), state, icon('chevron', 'chevron'));
  }

  private facts(): HTMLElement[] {
    const facts: HTMLElement[] = [];
    for (const diff of this.item.diffs) facts.push(diffStat(diff));
    const exit = this.item.terminal?.exit;
    if (exit && exit.code !== 0) facts.push(h('span', { class: 'exit' }, exit.signal ?? `exit ${exit.code}`));
    return facts;
  }

  private drawBody(): void {
    const { item } = this;
    const parts = JSON.stringify([item.diffs, item.texts, item.ask, item.places, item.pictures.length, item.terminal !== null, item.status]);
    if (parts !== this.shownParts) {
      this.shownParts = parts;
      this.body.replaceChildren(...this.parts());
    }
    if (item.terminal) this.terminal?.set(item.terminal.output);
  }

  private parts(): HTMLElement[] {
    const { item } = this;
    const parts: HTMLElement[] = item.diffs.map((diff, index) => diffElement(item, diff, index));
    if (item.terminal) parts.push((this.terminal ??= new TerminalView()).element);
    this.texts = item.ask || (item.diffs.length > 0 && item.status !== 'failed') ? [] : item.texts.map(plain);
    parts.push(...this.texts.map((view) => view.element));
    parts.push(
      ...item.pictures.map(({ mimeType, data }) =>
        h('img', { class: 'picture', src: `data:${mimeType};base64,${data}`, alt: `Picture of ${item.title}` }),
      ),
    );
    if (item.diffs.length === 0) parts.push(...placeLinks(item));
    if (item.ask) parts.push(askElement(item, item.ask));
    return parts;
  }

  private isExpanded(): boolean {
    const { item } = this;
    if (item.ask) return true;
    if (this.expanded !== null) return this.expanded;
    return item.diffs.length > 0 || (item.does === 'execute' && item.status !== 'completed') || item.status === 'failed' || item.pictures.length > 0;
  }

  private showExpanded(): void {
    const expanded = this.isExpanded();
    this.head.setAttribute('aria-expanded', String(expanded));
    this.body.hidden = !expanded || this.body.childElementCount === 0;
  }
}

function plain(text: string): MarkdownView {
  const view = new MarkdownView();
  view.element.classList.add('tool-text');
  const fence = '~'.repeat(Math.max(3, ...[...text.matchAll(/~{3,}/g)].map((found) => found[0].length + 1)));
  view.set(/^\s*\d+\t|\n/.test(text) && !text.includes('```') ? `${fence}\n${text}\n${fence}` : text);
  return view;
}

function placeLinks(item: ToolItem): HTMLElement[] {
  if (item.places.length === 0) return [];
  const links = item.places.slice(0, 8).map(({ path, line }) => {
    const words = line === null ? path : `${path}:${line}`;
    return h('button', { type: 'button', class: 'link place', title: words, onclick: () => post({ type: 'place', path, line }) }, words);
  });
  return [h('div', { class: 'places' }, ...links)];
}
