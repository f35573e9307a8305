// A block of code that grows: finished stretches are coloured once and left alone, the last one is coloured anew.
import { h, icon, iconButton } from '../dom.ts';
import { post } from '../host.ts';
import { highlight } from './highlight.ts';

const STRETCH = 40;
const LONGEST_STRETCH = 80;

export class CodeBlock {
  readonly element: HTMLElement;
  private readonly body: HTMLElement;
  private readonly language: string;
  private code = '';
  /** Where the stretch that may still grow begins. */
  private from = 0;
  private tail: HTMLElement | null = null;

  constructor(language: string) {
    this.language = language;
    this.body = h('code', { class: 'hljs' });
    const copy = iconButton('copy', 'Copy code', () => {
      post({ type: 'copy', text: this.code });
      copy.replaceChildren(icon('check'));
      setTimeout(() => copy.replaceChildren(icon('copy')), 1_200);
    });
    const insert = iconButton('insert', 'Insert at the cursor', () => post({ type: 'insert', text: this.code }));
    const head = h('div', { class: 'code-head' }, h('span', {}, language || 'text'), h('span', { class: 'code-acts' }, insert, copy));
    this.element = h('div', { class: 'code-block' }, head, h('pre', { tabindex: '0', 'aria-label': `${language} code` }, this.body));
  }

  set(code: string): void {
    if (!code.startsWith(this.code.slice(0, this.from))) {
      this.body.replaceChildren();
      this.tail = null;
      this.from = 0;
    }
    this.code = code;
    this.draw();
  }

  private draw(): void {
    for (;;) {
      const end = this.stretchEnd();
      const piece = this.code.slice(this.from, end ?? undefined);
      this.tail ??= this.body.appendChild(h('span', { class: 'stretch' }));
      this.tail.innerHTML = highlight(piece.replace(/\n$/, ''), this.language) || ' ';
      if (end === null) return;
      this.from = end;
      this.tail = null;
      if (end >= this.code.length) return;
    }
  }

  /** Returns where the last stretch can be closed: at a line without indent once it is long, or when it is too long. */
  private stretchEnd(): number | null {
    let at = this.from;
    for (let lines = 1; ; lines += 1) {
      const next = this.code.indexOf('\n', at);
      if (next < 0) return null;
      at = next + 1;
      const begins = this.code[at] ?? '';
      if (begins === '') return null;
      if (lines >= LONGEST_STRETCH || (lines >= STRETCH && /\S/.test(begins))) return at;
    }
  }
}
