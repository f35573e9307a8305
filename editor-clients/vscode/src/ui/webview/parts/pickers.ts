// The choices of a conversation: mode, model, effort and whatever else the agent offers, each a button with a list.
import type { Picker } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';
import { Popup, type Row } from './popup.ts';

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
    this.popup.element.classList.add('pickers-popup');
    document.addEventListener('pointerdown', (event) => {
      const target = event.target as Node;
      if (this.popup.open && !this.popup.element.contains(target) && !this.opener?.contains(target)) this.popup.hide();
    });
  }

  show(pickers: readonly Picker[]): void {
    const state = JSON.stringify(pickers);
    if (state === this.drawn) return;
    this.drawn = state;
    const main = ORDER.flatMap((category) => pickers.filter((picker) => picker.category === category));
    const others = pickers.filter((picker) => !ORDER.includes(picker.category));
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-picker') : null;
    this.element.replaceChildren(...main.map((picker) => this.button(picker)), ...(others.length > 0 ? [this.more(others)] : []));
    if (focused) this.element.querySelector<HTMLElement>(`[data-picker="${CSS.escape(focused)}"]`)?.focus();
  }

  private button(picker: Picker): HTMLElement {
    const current = picker.choices.find((choice) => choice.value === picker.current);
    const words = nameOf(picker);
    const title = `${picker.name}: ${words}${current?.description ? `\n${current.description}` : ''}`;
    const parts = [h('span', { class: 'picker-words' }, words), icon('down', 'picker-arrow')];
    return this.opens(`picker-${picker.category}`, picker.id, `${picker.name}: ${words}`, title, parts, () => this.rows(picker, ''));
  }

  /** Makes one button for all choices of the agent's own kinds. */
  private more(pickers: readonly Picker[]): HTMLElement {
    const words = pickers.map((picker) => `${picker.name}: ${nameOf(picker)}`).join('\n');
    return this.opens('picker-more', '#more', 'More choices', words, [icon('more')], () => pickers.flatMap((picker) => this.rows(picker, picker.name)));
  }

  private rows(picker: Picker, group: string): Row[] {
    return picker.choices.map((choice) => ({
      label: choice.name,
      detail: choice.description,
      group: group || choice.group,
      chosen: choice.value === picker.current,
      take: () => {
        post({ type: 'choose', picker: picker.id, value: choice.value });
        this.opener?.focus();
      },
    }));
  }

  private opens(kind: string, id: string, label: string, title: string, parts: Element[], rows: () => Row[]): HTMLElement {
    const button = h(
      'button',
      { type: 'button', class: `picker ${kind}`, 'data-picker': id, title, 'aria-label': label, 'aria-haspopup': 'listbox', 'aria-expanded': 'false' },
      ...parts,
    );
    button.addEventListener('keydown', (event) => this.popup.key(event));
    button.addEventListener('click', () => {
      if (this.popup.open && this.opener === button) return this.popup.hide();
      this.popup.hide();
      this.opener = button;
      this.popup.element.setAttribute('aria-label', label);
      this.popup.show(rows());
    });
    return button;
  }
}

function nameOf(picker: Picker): string {
  return picker.choices.find((choice) => choice.value === picker.current)?.name ?? picker.current;
}
