// What a command prints: the end of it, in a box that follows it.
import { h } from '../dom.ts';

const SHOWN = 16_000;

export class TerminalView {
  readonly element = h('pre', { class: 'terminal', tabindex: '0', 'aria-label': 'Output of the command' });
  private text = '';
  private shown = '';

  set(text: string): void {
    this.text = text;
    this.draw();
  }

  add(text: string): void {
    this.text = (this.text + text).slice(-SHOWN * 2);
  }

  draw(): void {
    const text = this.text.length > SHOWN ? `…${this.text.slice(-SHOWN)}` : this.text;
    if (text === this.shown) return;
    this.shown = text;
    this.element.textContent = text;
    this.element.scrollTop = this.element.scrollHeight;
  }
}
