// How full the model's context is: a ring that fills, and the figures for whoever asks.
import type { Usage } from '../../../session/items.ts';
import { h } from '../dom.ts';

const ROUND = 2 * Math.PI * 6;

export class Meter {
  readonly element = h('div', { class: 'meter', role: 'meter', 'aria-label': 'Context in use', tabindex: '0' });
  private readonly ring: SVGCircleElement;

  constructor() {
    this.element.innerHTML =
      '<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"/><circle class="fill" cx="8" cy="8" r="6"/></svg>';
    this.ring = this.element.querySelector('.fill')!;
    this.element.hidden = true;
  }

  show(usage: Usage | null): void {
    this.element.hidden = usage === null || usage.size === 0;
    if (!usage || usage.size === 0) return;
    const share = Math.min(1, usage.used / usage.size);
    const percent = Math.round(share * 100);
    this.ring.style.strokeDasharray = `${share * ROUND} ${ROUND}`;
    this.element.classList.toggle('high', share > 0.8);
    const cost = usage.cost ? `, ${usage.cost}` : '';
    const words = `${percent}% of the context in use: ${short(usage.used)} of ${short(usage.size)} tokens${cost}`;
    this.element.title = words;
    this.element.setAttribute('aria-valuenow', String(percent));
    this.element.setAttribute('aria-valuetext', words);
  }
}

function short(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}
