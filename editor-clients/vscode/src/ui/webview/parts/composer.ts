// Where the person writes: the field, what goes with it, the choices of the conversation, send and stop.
import type { Draft, Mention, Meta } from '../../../session/items.ts';
import type { Can, Looks } from '../../shared/messages.ts';
import { h, icon, iconButton } from '../dom.ts';
import { keep, kept, post } from '../host.ts';
import { Completion } from './completion.ts';
import { Attachments } from './draft.ts';
import { Meter } from './meter.ts';
import { Pickers } from './pickers.ts';

export interface Around {
  can(): Can;
  looks(): Looks;
  meta(): Meta | null;
  sent(draft: Draft): void;
}

const TALLEST = 240;
let drafts = 0;

export class Composer {
  readonly element: HTMLElement;
  readonly input: HTMLTextAreaElement;
  private readonly attachments = new Attachments();
  private readonly completion: Completion;
  private readonly pickers = new Pickers();
  private readonly meter = new Meter();
  private readonly button: HTMLButtonElement;
  private readonly around: Around;
  private last = '';
  private running = false;

  constructor(around: Around) {
    this.around = around;
    this.input = h('textarea', {
      rows: '1',
      placeholder: 'Ask, or say what to do…',
      title: '@ adds files and the selection, / lists commands',
      'aria-label': 'Message to the agent. At sign adds files, slash lists commands.',
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': 'false',
    });
    this.input.value = kept().text;
    this.completion = new Completion({
      input: this.input,
      commands: () => around.meta()?.commands ?? [],
      mention: (mention) => this.mention(mention),
    });
    this.button = h('button', { type: 'button', class: 'send', onclick: () => this.act() });
    const attach = iconButton('attach', 'Add a file or the selection', () => this.type('@'));
    const row = h('div', { class: 'composer-row' }, attach, this.pickers.element, this.meter.element, this.button);
    this.element = h('div', { class: 'composer' }, this.completion.popup.element, this.pickers.popup.element, this.attachments.element, this.input, row);
    this.listen();
    this.showButton();
    requestAnimationFrame(() => this.fit());
  }

  show(meta: Meta): void {
    this.running = meta.running;
    this.pickers.show(meta.pickers);
    this.meter.show(meta.usage);
    this.showButton();
  }

  suggestions: Completion['suggestions'] = (asked, rows) => this.completion.suggestions(asked, rows);

  mention(mention: Mention): void {
    this.attachments.add(mention);
    this.input.focus();
  }

  /** Puts a draft back to be changed; what is there already stays behind it. */
  put(draft: Draft): void {
    this.input.value = [draft.text, this.input.value].filter(Boolean).join('\n');
    this.attachments.set(draft.mentions, draft.pictures);
    this.input.focus();
    this.changed();
  }

  private listen(): void {
    this.input.addEventListener('input', () => {
      this.changed();
      this.completion.update();
    });
    this.input.addEventListener('blur', () => this.completion.popup.hide());
    this.input.addEventListener('keydown', (event) => this.key(event));
    this.input.addEventListener('paste', (event) => {
      if (this.around.can().images && this.attachments.take(event.clipboardData?.files ?? [])) event.preventDefault();
    });
    this.element.addEventListener('dragover', (event) => event.preventDefault());
    this.element.addEventListener('drop', (event) => {
      event.preventDefault();
      if (this.around.can().images) this.attachments.take(event.dataTransfer?.files ?? []);
    });
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing || this.completion.popup.key(event)) return;
    if (event.key === 'Enter' && this.sends(event)) {
      event.preventDefault();
      this.send();
    } else if (event.key === 'ArrowUp' && this.input.value === '' && this.last) {
      event.preventDefault();
      this.input.value = this.last;
      this.changed();
    } else if (event.key === 'Escape' && this.running) {
      post({ type: 'stop' });
    }
  }

  private sends(event: KeyboardEvent): boolean {
    const modified = event.ctrlKey || event.metaKey;
    return this.around.looks().sendWith === 'enter' ? !event.shiftKey && !event.altKey : modified;
  }

  private act(): void {
    if (this.running && this.blank) post({ type: 'stop' });
    else this.send();
  }

  private get blank(): boolean {
    return this.input.value.trim() === '' && this.attachments.mentions.length + this.attachments.pictures.length === 0;
  }

  private send(): void {
    if (this.blank) return;
    drafts += 1;
    const { mentions, pictures } = this.attachments;
    const draft: Draft = { id: `d${drafts}-${Date.now()}`, text: this.input.value.trim(), mentions, pictures };
    this.last = draft.text;
    this.input.value = '';
    this.attachments.set([], []);
    this.completion.popup.hide();
    this.changed();
    post({ type: 'send', draft });
    this.around.sent(draft);
  }

  private type(text: string): void {
    const { input } = this;
    const before = input.value.slice(0, input.selectionStart);
    input.setRangeText(before === '' || /\s$/.test(before) ? text : ` ${text}`, input.selectionStart, input.selectionEnd, 'end');
    input.focus();
    input.dispatchEvent(new Event('input'));
  }

  private changed(): void {
    keep({ text: this.input.value });
    this.fit();
    this.showButton();
  }

  private fit(): void {
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(TALLEST, this.input.scrollHeight)}px`;
  }

  private showButton(): void {
    const stops = this.running && this.blank;
    const label = stops ? 'Stop (Escape)' : this.running ? 'Send after this turn (Enter)' : 'Send (Enter)';
    if (this.button.title === label) return;
    this.button.title = label;
    this.button.setAttribute('aria-label', label);
    this.button.classList.toggle('stops', stops);
    this.button.replaceChildren(icon(stops ? 'stop' : 'send'));
  }
}
