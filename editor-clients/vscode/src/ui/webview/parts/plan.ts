// The agent's plan: how far it is in one line, all of it on demand.
import type { PlanEntry } from '../../../session/items.ts';
import { h, icon } from '../dom.ts';

const MARKS = { pending: 'other', in_progress: 'spinner', completed: 'check' } as const;

export class Plan {
  readonly element = h('section', { class: 'plan', 'aria-label': 'Plan' });
  private readonly head = h('button', { type: 'button', class: 'plan-head', 'aria-expanded': 'false' });
  private readonly list = h('ol', { class: 'plan-list' });

  constructor() {
    this.element.append(this.head, this.list);
    this.element.hidden = true;
    this.list.hidden = true;
    this.head.addEventListener('click', () => {
      this.list.hidden = !this.list.hidden;
      this.head.setAttribute('aria-expanded', String(!this.list.hidden));
    });
  }

  show(entries: readonly PlanEntry[]): void {
    const done = entries.filter((entry) => entry.status === 'completed').length;
    this.element.hidden = entries.length === 0;
    const current = entries.find((entry) => entry.status === 'in_progress') ?? entries.find((entry) => entry.status === 'pending');
    const words = current?.content ?? 'All done';
    const count = h('span', { class: 'plan-count' }, `${done}/${entries.length}`);
    this.head.replaceChildren(icon('plan'), h('span', { class: 'plan-words' }, words), count, icon('chevron', 'chevron'));
    this.list.replaceChildren(
      ...entries.map(({ content, status }) => {
        const mark = status === 'pending' ? h('span', { class: 'plan-dot' }) : icon(MARKS[status], status === 'in_progress' ? 'spin' : '');
        return h('li', { class: status }, mark, h('span', {}, content), h('span', { class: 'sr' }, status.replace('_', ' ')));
      }),
    );
  }
}
