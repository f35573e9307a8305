// The choices of a conversation: mode, model, effort and whatever else the agent offers, each a button with a list.
import type { Picker } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';
import { Popup } from './popup.ts';

const ORDER = ['mode', 'model', 'thought_level'];

export class Pickers {
  readonly element = h('div', { class: 'pickers', role: 'toolbar', 'aria-label': 'Choices of this chat' });
  readonly popup: Popup;
  private opener: HTMLButtonElement | null = null;
  private drawn = '';

  constructor() {
    this.popup = new Popup('Choices', (id) => {
      this.opener?.setAttribute('aria-expanded', String(id !== null));
      if (id) this.opener?.setAttribute('aria-activedescendant', id);
      else this.opener?.removeAttribute('aria-activedescendant');
    });
    document.addEventListener('pointerdown', (event) => {
      const target = event.target as Node;
      if (this.popup.open && !this.popup.element.contains(target) && !this.opener?.contains(target)) this.popup.hide();
    });
  }

  show(pickers: readonly Picker[]): void {
    const state = JSON.stringify(pickers);
    if (state === this.drawn) return;
    this.drawn = state;
    const place = (picker: Picker): number => (ORDER.indexOf(picker.category) + ORDER.length + 1) % (ORDER.length + 1);
    const sorted = [...pickers].sort((a, b) => rank(a, place) - rank(b, place));
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-picker') : null;
    this.element.replaceChildren(...sorted.map((picker) => this.button(picker)));
    if (focused) this.element.querySelector<HTMLElement>(`[data-picker="${CSS.escape(focused)}"]`)?.focus();
  }

  private button(picker: Picker): HTMLElement {
    const current = picker.choices.find((choice) => choice.value === picker.current);
    const words = current?.name ?? picker.current;
    const button = h(
      'button',
      {
        type: 'button',
        class: `picker picker-${picker.category || 'other'}`,
        'data-picker': picker.id,
        title: `${picker.name}: ${words}${current?.description ? `\n${current.description}` : ''}`,
        'aria-label': `${picker.name}: ${words}`,
        'aria-haspopup': 'listbox',
        'aria-expanded': 'false',
      },
      h('span', { class: 'picker-words' }, isMain(picker) ? words : `${picker.name}: ${words}`),
      icon('down', 'picker-arrow'),
    );
    button.addEventListener('click', () => this.toggle(button, picker));
    button.addEventListener('keydown', (event) => this.popup.key(event));
    return button;
  }

  private toggle(button: HTMLButtonElement, picker: Picker): void {
    if (this.popup.open && this.opener === button) return this.popup.hide();
    this.popup.hide();
    this.opener = button;
    this.popup.element.setAttribute('aria-label', picker.name);
    this.popup.show(
      picker.choices.map((choice) => ({
        label: choice.name,
        detail: choice.description,
        group: choice.group,
        chosen: choice.value === picker.current,
        take: () => {
          post({ type: 'choose', picker: picker.id, value: choice.value });
          button.focus();
        },
      })),
    );
  }
}

function isMain(picker: Picker): boolean {
  return ORDER.includes(picker.category);
}

function rank(picker: Picker, place: (picker: Picker) => number): number {
  return isMain(picker) ? ORDER.indexOf(picker.category) : ORDER.length + place(picker);
}
