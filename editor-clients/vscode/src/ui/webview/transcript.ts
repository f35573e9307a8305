// The conversation on the page. Items are made once and changed in place; what is pending is drawn in short steps, a few
// milliseconds a frame; a long conversation is drawn from its end, so that what was said last is there at once.
import type { Change, Item } from '../../session/items.ts';
import type { Can, Looks } from '../shared/messages.ts';
import { h, iconButton } from './dom.ts';
import { NoticeView } from './items/notice.ts';
import { AnswerView, ThoughtView } from './items/text.ts';
import { ToolView } from './items/tool.ts';
import { UserView } from './items/user.ts';
import type { ItemView } from './items/view.ts';

const FRAME_MS = 8;
const NEAR_END = 40;

export interface Around {
  can(): Can;
  looks(): Looks;
}

export class Transcript {
  readonly element: HTMLElement;
  private readonly list = h('div', { class: 'items' });
  private readonly scroller: HTMLElement;
  private readonly toEnd: HTMLButtonElement;
  private readonly views = new Map<string, ItemView>();
  private readonly dirty = new Set<ItemView>();
  private readonly around: Around;
  /** Items that are not drawn yet: the earlier ones of a long conversation. */
  private earlier: Item[] = [];
  private sticks = true;
  private top = 0;
  private scheduled = false;

  constructor(around: Around) {
    this.around = around;
    this.scroller = h('div', { class: 'scroller', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation', tabindex: '0' }, this.list);
    this.toEnd = iconButton('down', 'To the end', () => this.stick(), 'to-end');
    this.toEnd.hidden = true;
    this.element = h('div', { class: 'transcript' }, this.scroller, this.toEnd);
    this.scroller.addEventListener('scroll', () => this.scrolled(), { passive: true });
    // The list grows when far items are drawn for the first time; the end stays the end.
    const sizes = new ResizeObserver(() => this.follow());
    sizes.observe(this.scroller);
    sizes.observe(this.list);
  }

  get empty(): boolean {
    return this.views.size === 0 && this.earlier.length === 0;
  }

  /** Shows another conversation. */
  reset(items: readonly Item[]): void {
    this.views.clear();
    this.dirty.clear();
    this.list.replaceChildren();
    this.earlier = [...items];
    this.sticks = true;
    this.schedule();
  }

  apply(change: Change): void {
    if (change.op === 'meta') return;
    if (change.op === 'put') {
      this.put(change.item);
    } else {
      const view = this.views.get(change.id);
      if (!view) return this.growEarlier(change.id, change.text, change.op);
      if (change.op === 'grow') view.grow?.(change.text);
      else view.output?.(change.text);
      this.dirty.add(view);
    }
    this.schedule();
  }

  /** Goes to the end and stays there. */
  stick(): void {
    this.sticks = true;
    this.follow();
  }

  private put(item: Item): void {
    const known = this.views.get(item.id);
    if (known) {
      known.put(item);
      this.dirty.add(known);
      return;
    }
    const place = this.earlier.findIndex((one) => one.id === item.id);
    if (place >= 0) this.earlier[place] = item;
    else this.list.append(this.make(item).element);
  }

  private growEarlier(id: string, text: string, op: 'grow' | 'output'): void {
    const item = this.earlier.find((one) => one.id === id);
    if (op === 'grow' && item && 'text' in item) item.text += text;
    if (op === 'output' && item?.kind === 'tool' && item.terminal) item.terminal.output += text;
  }

  private make(item: Item): ItemView {
    const view = viewOf(item, this.around);
    this.views.set(item.id, view);
    if (!view.draw()) this.dirty.add(view);
    return view;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    this.scheduled = false;
    const until = performance.now() + FRAME_MS;
    for (const view of this.dirty) {
      if (view.draw()) this.dirty.delete(view);
      if (performance.now() > until) break;
    }
    while (this.earlier.length > 0 && performance.now() < until) {
      this.list.prepend(this.make(this.earlier.pop()!).element);
    }
    this.follow();
    if (this.dirty.size > 0 || this.earlier.length > 0) this.schedule();
  }

  private follow(): void {
    if (this.sticks) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const away = scrollHeight - scrollTop - clientHeight;
    // Only a way up leaves the end: growing moves it away without any scrolling.
    if (away < NEAR_END) this.sticks = true;
    else if (scrollTop < this.top) this.sticks = false;
    this.top = scrollTop;
    this.toEnd.hidden = this.sticks || away < clientHeight / 2;
  }
}

function viewOf(item: Item, around: Around): ItemView {
  switch (item.kind) {
    case 'user':
      return new UserView(item, () => around.can().undo);
    case 'answer':
      return new AnswerView(item);
    case 'thought':
      return new ThoughtView(item, around.looks);
    case 'tool':
      return new ToolView(item);
    case 'notice':
      return new NoticeView(item);
  }
}
