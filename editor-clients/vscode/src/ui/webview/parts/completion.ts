// Completion in the field: commands behind a slash at its beginning, files and the selection behind an at sign.
import type { Mention, SlashCommand } from '../../../session/items.ts';
import type { Suggestion } from '../../shared/messages.ts';
import { post } from '../host.ts';
import { Popup } from './popup.ts';

export interface Field {
  readonly input: HTMLTextAreaElement;
  commands(): readonly SlashCommand[];
  mention(mention: Mention): void;
}

export class Completion {
  readonly popup: Popup;
  private readonly field: Field;
  private asked = 0;

  constructor(field: Field) {
    this.field = field;
    this.popup = new Popup('Completions', (id) => {
      if (id) field.input.setAttribute('aria-activedescendant', id);
      else field.input.removeAttribute('aria-activedescendant');
      field.input.setAttribute('aria-expanded', String(id !== null));
    });
    field.input.setAttribute('aria-controls', this.popup.id);
  }

  /** Looks at what stands before the cursor and shows what it could become. */
  update(): void {
    const before = this.field.input.value.slice(0, this.field.input.selectionStart);
    const slash = /^\/(\S*)$/.exec(before);
    const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
    if (slash) return this.showCommands(slash[1] ?? '');
    if (at) {
      this.asked += 1;
      return post({ type: 'suggest', asked: this.asked, query: at[1] ?? '' });
    }
    this.asked += 1;
    this.popup.hide();
  }

  suggestions(asked: number, rows: readonly Suggestion[]): void {
    if (asked !== this.asked) return;
    this.popup.show(
      rows.map((row) => ({
        label: row.label,
        detail: row.detail,
        take: () => {
          this.replace(/@[^\s@]*$/, '');
          this.field.mention(row.mention);
        },
      })),
    );
  }

  private showCommands(typed: string): void {
    const rows = this.field.commands().filter((command) => command.name.startsWith(typed));
    if (rows.length === 1 && rows[0]?.name === typed) return this.popup.hide();
    this.popup.show(
      rows.map((command) => ({
        label: `/${command.name}`,
        detail: command.description,
        take: () => this.replace(/^\/\S*$/, `/${command.name}${command.hint ? ' ' : ''}`),
      })),
    );
  }

  private replace(pattern: RegExp, by: string): void {
    const { input } = this.field;
    const before = input.value.slice(0, input.selectionStart).replace(pattern, by);
    const after = input.value.slice(input.selectionStart);
    input.value = before + after;
    input.setSelectionRange(before.length, before.length);
    input.dispatchEvent(new Event('input'));
    input.focus();
  }
}
