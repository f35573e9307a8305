// The stored conversations: searched as one types, opened, renamed, copied, deleted.
import type { Can, StoredSession } from '../../shared/messages.ts';
import { h, iconButton } from '../dom.ts';
import { post } from '../host.ts';

const DAY = 86_400_000;

export class Sessions {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list = h('div', { class: 'session-list', role: 'list', 'aria-label': 'Chats' });
  private sessions: readonly StoredSession[] | null = null;
  private readonly can: () => Can;

  constructor(can: () => Can, back: () => void) {
    this.can = can;
    this.input = h('input', { type: 'search', placeholder: 'Search chats', 'aria-label': 'Search chats' });
    this.input.addEventListener('input', () => this.draw());
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') back();
      if (event.key === 'ArrowDown') this.list.querySelector<HTMLElement>('.session-open')?.focus();
    });
    this.list.addEventListener('keydown', (event) => this.move(event));
    const head = h('div', { class: 'session-head' }, iconButton('back', 'Back to the chat', back), this.input);
    this.element = h('section', { class: 'sessions', 'aria-label': 'Chats of this folder' }, head, this.list);
    this.element.hidden = true;
  }

  open(): void {
    this.element.hidden = false;
    this.input.value = '';
    this.input.focus();
    post({ type: 'list' });
    this.draw();
  }

  show(sessions: readonly StoredSession[]): void {
    this.sessions = sessions;
    this.draw();
  }

  private draw(): void {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = (this.sessions ?? []).filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
    if (found.length === 0) {
      const nothing = this.sessions === null ? 'Looking…' : words.length > 0 ? 'No chat has these words.' : 'No chats in this folder yet.';
      this.list.replaceChildren(h('p', { class: 'nothing' }, nothing));
      return;
    }
    const now = Date.now();
    let group = '';
    const parts: HTMLElement[] = [];
    for (const session of found) {
      const day = dayOf(session.updated, now);
      if (day !== group) parts.push(h('h2', { class: 'session-day' }, (group = day)));
      parts.push(this.row(session, now));
    }
    this.list.replaceChildren(...parts);
  }

  private row(session: StoredSession, now: number): HTMLElement {
    const can = this.can();
    const open = h(
      'button',
      { type: 'button', class: 'session-open', title: session.title, onclick: () => post({ type: 'open', session }) },
      h('span', { class: 'session-title' }, session.title),
      h('span', { class: 'session-when' }, session.open ? 'open' : when(session.updated, now)),
    );
    const acts: HTMLElement[] = [];
    if (can.rename) acts.push(iconButton('rename', `Rename ${session.title}`, () => post({ type: 'rename', session })));
    if (can.fork) acts.push(iconButton('fork', `Go on with a copy of ${session.title}`, () => post({ type: 'fork', session })));
    if (can.remove) acts.push(iconButton('delete', `Delete ${session.title}`, () => post({ type: 'delete', session })));
    return h('div', { class: 'session', role: 'listitem' }, open, h('span', { class: 'session-acts' }, ...acts));
  }

  private move(event: KeyboardEvent): void {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by === 0) return;
    const all = [...this.list.querySelectorAll<HTMLElement>('.session-open')];
    const at = all.indexOf(document.activeElement as HTMLElement) + by;
    event.preventDefault();
    (all[at] ?? (by < 0 ? this.input : null))?.focus();
  }
}

function dayOf(time: number, now: number): string {
  const day = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
  const ago = Math.round((day(now) - day(time)) / DAY);
  if (ago <= 0) return 'Today';
  if (ago === 1) return 'Yesterday';
  return ago < 7 ? 'This week' : 'Earlier';
}

function when(time: number, now: number): string {
  if (!time) return '';
  const minutes = Math.round((now - time) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.round(minutes / 60)} h`;
  return new Date(time).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}
