// A line from the agent or the extension that is no answer.
import type { Item, NoticeItem } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';
import type { ItemView } from './view.ts';

export class NoticeView implements ItemView {
  readonly element = h('div', { class: 'item notice' });

  constructor(item: NoticeItem) {
    this.put(item);
  }

  put(item: Item): void {
    if (item.kind !== 'notice') return;
    this.element.className = `item notice ${item.severity}`;
    const words = h('div', {}, h('span', { class: 'notice-title' }, item.title));
    if (item.text) words.append(h('div', { class: 'notice-text' }, item.text));
    this.element.replaceChildren(icon(item.severity === 'info' ? 'info' : 'warning'), words);
  }

  draw(): boolean {
    return true;
  }
}
