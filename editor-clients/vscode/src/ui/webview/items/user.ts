// What the person said, with the files and pictures that went with it, and the way back to before it.
import type { Item, UserItem } from '../../../session/items.ts';
import { h, icon, iconButton } from '../dom.ts';
import { post } from '../host.ts';
import type { ItemView } from './view.ts';

const MANY_LINES = 14;

export class UserView implements ItemView {
  readonly element = h('article', { class: 'item user', 'aria-label': 'You said' });
  private readonly canUndo: () => boolean;
  private readonly id: string;

  constructor(item: UserItem, canUndo: () => boolean) {
    this.id = item.id;
    this.canUndo = canUndo;
    this.put(item);
  }

  put(item: Item): void {
    if (item.kind !== 'user') return;
    const text = h('div', { class: 'user-text' }, item.text);
    const parts: HTMLElement[] = [];
    if (item.text) parts.push(text);
    const chips = item.attachments.map(({ label, uri }) =>
      h('button', { type: 'button', class: 'chip', title: uri, onclick: () => post({ type: 'uri', uri }) }, icon('read'), label),
    );
    if (chips.length > 0) parts.push(h('div', { class: 'chips' }, ...chips));
    const pictures = item.pictures.map(({ mimeType, data }) =>
      h('img', { class: 'picture', src: `data:${mimeType};base64,${data}`, alt: 'Picture that you sent' }),
    );
    if (pictures.length > 0) parts.push(h('div', { class: 'pictures' }, ...pictures));
    const acts = h('div', { class: 'user-acts' });
    if (this.canUndo()) acts.append(iconButton('undo', 'Go back to before this message', () => post({ type: 'undo', item: this.id })));
    acts.append(iconButton('copy', 'Copy', () => post({ type: 'copy', text: item.text })));
    this.element.replaceChildren(...parts, acts);
    if (item.text.split('\n').length > MANY_LINES) this.fold(text);
  }

  draw(): boolean {
    return true;
  }

  private fold(text: HTMLElement): void {
    text.classList.add('folded');
    const more = h('button', { type: 'button', class: 'link', 'aria-expanded': 'false' }, 'Show all');
    more.addEventListener('click', () => {
      const folded = text.classList.toggle('folded');
      more.setAttribute('aria-expanded', String(!folded));
      more.textContent = folded ? 'Show all' : 'Show less';
    });
    text.after(more);
  }
}
