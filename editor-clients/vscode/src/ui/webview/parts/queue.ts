// What waits for the running turn: to be sent now, changed, or taken back.
import type { Draft } from '../../../session/items.ts';
import type { Can } from '../../shared/messages.ts';
import { h, iconButton } from '../dom.ts';
import { post } from '../host.ts';

export class Queue {
  readonly element = h('div', { class: 'queue', role: 'list', 'aria-label': 'Messages that wait' });

  show(queue: readonly Draft[], running: boolean, can: Can): void {
    this.element.hidden = queue.length === 0;
    this.element.replaceChildren(...queue.map((draft) => row(draft, running, can)));
  }
}

function row(draft: Draft, running: boolean, can: Can): HTMLElement {
  const acts: HTMLElement[] = [];
  const now = (): void => post({ type: 'sendQueued', id: draft.id });
  if (!running) acts.push(iconButton('send', 'Send', now));
  else if (can.steer) acts.push(iconButton('send', 'Say it now, into the running turn', now));
  acts.push(iconButton('edit', 'Take back and change', () => post({ type: 'unqueue', id: draft.id })));
  const words = draft.text || `${draft.pictures.length + draft.mentions.length} attached`;
  const text = h('span', { class: 'queued-text', title: words }, words);
  return h('div', { class: 'queued', role: 'listitem' }, h('span', { class: 'queued-mark' }, 'Next'), text, ...acts);
}
