// What goes with the words that are being written: files, pieces of files, pictures.
import type { Mention, Picture } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';

const MOST_PICTURES = 20;
const LARGEST_PICTURE = 20 * 1024 * 1024;
const KINDS = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export class Attachments {
  readonly element = h('div', { class: 'chips attachments', role: 'list', 'aria-label': 'Goes with your message' });
  mentions: Mention[] = [];
  pictures: Picture[] = [];

  constructor() {
    this.draw();
  }

  add(mention: Mention): void {
    const same = (one: Mention): boolean => one.path === mention.path && one.label === mention.label;
    this.mentions = [...this.mentions.filter((one) => !same(one)), mention];
    this.draw();
  }

  set(mentions: readonly Mention[], pictures: readonly Picture[]): void {
    this.mentions = [...mentions];
    this.pictures = [...pictures];
    this.draw();
  }

  /** Takes pictures of a paste or a drop; returns whether there were any. */
  take(files: Iterable<File>): boolean {
    const pictures = [...files].filter((file) => KINDS.has(file.type) && file.size <= LARGEST_PICTURE);
    for (const file of pictures.slice(0, MOST_PICTURES - this.pictures.length)) void this.read(file);
    return pictures.length > 0;
  }

  private async read(file: File): Promise<void> {
    const url = await new Promise<string>((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result));
      reader.readAsDataURL(file);
    });
    this.pictures = [...this.pictures, { mimeType: file.type, data: url.slice(url.indexOf(',') + 1) }];
    this.draw();
  }

  private draw(): void {
    const chips = this.mentions.map((mention) =>
      this.chip(mention.label, mention.path, icon('read'), () => {
        this.mentions = this.mentions.filter((one) => one !== mention);
      }),
    );
    const pictures = this.pictures.map((picture) => {
      const image = h('img', { src: `data:${picture.mimeType};base64,${picture.data}`, alt: 'Picture' });
      return this.chip('', 'Picture', image, () => {
        this.pictures = this.pictures.filter((one) => one !== picture);
      });
    });
    this.element.replaceChildren(...chips, ...pictures);
    this.element.hidden = chips.length + pictures.length === 0;
  }

  private chip(label: string, title: string, mark: Element, remove: () => void): HTMLElement {
    const off = h('button', { type: 'button', class: 'chip-off', 'aria-label': `Remove ${label || title}` }, icon('close'));
    off.addEventListener('click', () => {
      remove();
      this.draw();
    });
    return h('span', { class: 'chip', role: 'listitem', title }, mark, label, off);
  }
}
