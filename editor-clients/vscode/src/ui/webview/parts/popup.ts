// A list to choose from, above what it belongs to: keys move in it, Enter takes, Escape leaves.
import { h } from '../dom.ts';

export interface Row {
  readonly label: string;
  readonly detail: string;
  readonly group?: string;
  readonly chosen?: boolean;
  take(): void;
}

let count = 0;

export class Popup {
  readonly element: HTMLElement;
  readonly id: string;
  private rows: readonly Row[] = [];
  private at = 0;
  private readonly onMove: (id: string | null) => void;

  /** `onMove` is told the id of the row that is marked, for `aria-activedescendant`. */
  constructor(label: string, onMove: (id: string | null) => void) {
    count += 1;
    this.id = `popup${count}`;
    this.onMove = onMove;
    this.element = h('div', { class: 'popup', role: 'listbox', id: this.id, 'aria-label': label });
    this.element.hidden = true;
  }

  get open(): boolean {
    return !this.element.hidden;
  }

  show(rows: readonly Row[]): void {
    this.rows = rows;
    this.at = Math.max(0, rows.findIndex((row) => row.chosen));
    this.element.hidden = rows.length === 0;
    this.draw();
  }

  hide(): void {
    this.element.hidden = true;
    this.onMove(null);
  }

  /** Takes a key; returns whether it was meant for the list. */
  key(event: KeyboardEvent): boolean {
    if (!this.open) return false;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const by = event.key === 'ArrowDown' ? 1 : -1;
      this.at = (this.at + by + this.rows.length) % this.rows.length;
      this.mark();
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      const row = this.rows[this.at];
      this.hide();
      row?.take();
    } else if (event.key === 'Escape') {
      this.hide();
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private draw(): void {
    let group = '';
    const parts: HTMLElement[] = [];
    this.rows.forEach((row, at) => {
      if (row.group && row.group !== group) parts.push(h('div', { class: 'popup-group', role: 'presentation' }, (group = row.group)));
      const element = h(
        'div',
        { class: 'popup-row', role: 'option', id: `${this.id}-${at}`, 'aria-selected': String(row.chosen === true) },
        h('span', { class: 'popup-label' }, row.label),
        h('span', { class: 'popup-detail' }, row.detail),
      );
      // The press, not the click: the field keeps the focus.
      element.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        this.hide();
        row.take();
      });
      element.addEventListener('pointermove', () => {
        if (this.at === at) return;
        this.at = at;
        this.mark();
      });
      parts.push(element);
    });
    this.element.replaceChildren(...parts);
    if (this.open) this.mark();
  }

  private mark(): void {
    for (const row of this.element.querySelectorAll('.popup-row')) row.classList.toggle('marked', row.id === `${this.id}-${this.at}`);
    const marked = this.element.querySelector('.marked');
    marked?.scrollIntoView({ block: 'nearest' });
    this.onMove(marked?.id ?? null);
  }
}
