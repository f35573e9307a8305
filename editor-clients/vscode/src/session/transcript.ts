// The fold of a session's updates: the items of the conversation and what holds for all of it. Each step tells what it
// changed, so that a view changes only that. Knows no editor and no connection.
import type { Block, PermissionRequest, Update } from '../rpc/agent.ts';
import { shown } from './blocks.ts';
import { EMPTY_META, type Change, type Item, type Meta, type NoticeItem, type TextItem, type UserItem } from './items.ts';
import { pickersOf, withMode } from './pickers.ts';
import { askOf, change, newTool, type ToolUpdate } from './tools.ts';

export class Transcript {
  readonly items: Item[] = [];
  readonly meta: Meta = { ...EMPTY_META };
  private readonly byId = new Map<string, Item>();
  private readonly tools = new Map<string, string>();
  private next = 0;
  /** The message that the last chunk belonged to; undefined where the agent names none. */
  private message: string | null | undefined;
  private readonly told: (change: Change) => void;

  constructor(told: (change: Change) => void) {
    this.told = told;
  }

  /** Forgets the conversation before it is shown again; the title and the pickers stay. */
  clear(): void {
    this.items.length = 0;
    this.byId.clear();
    this.tools.clear();
    this.message = undefined;
    this.setMeta({ plan: [] });
  }

  apply(update: Update): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.grow('answer', update.content, update.messageId);
      case 'agent_thought_chunk':
        return this.grow('thought', update.content, update.messageId);
      case 'user_message_chunk':
        return this.growUser(update.content, update.messageId);
      case 'tool_call':
      case 'tool_call_update':
        return this.applyTool(update);
      case 'notice':
        return this.notice(update.severity as NoticeItem['severity'], update.title, update.description ?? '');
      default:
        return this.applyMeta(update);
    }
  }

  /** Adds what the person sent. */
  addUser(item: Omit<UserItem, 'kind' | 'id'>): void {
    this.close();
    this.put({ kind: 'user', id: this.newId(), ...item });
  }

  notice(severity: NoticeItem['severity'], title: string, text = ''): void {
    this.close();
    this.put({ kind: 'notice', id: this.newId(), severity, title, text });
  }

  /** Shows a question at the call that it is about. */
  ask(id: string, request: PermissionRequest): void {
    const { toolCall } = request;
    const item = this.tool(toolCall.toolCallId);
    const { content: _, status: __, ...fields } = toolCall;
    change(item, fields);
    if (item.diffs.length === 0) {
      const diffs = (toolCall.content ?? []).filter((part) => part.type === 'diff');
      item.diffs = diffs.map(({ path, oldText, newText }) => ({ path, oldText: oldText ?? null, newText }));
    }
    item.ask = askOf(id, request);
    this.put(item);
  }

  /** Takes an answered question away. */
  answered(callId: string): void {
    const item = this.byId.get(this.tools.get(callId) ?? '');
    if (item?.kind !== 'tool' || !item.ask) return;
    item.ask = null;
    this.put(item);
  }

  /** The turn is over: no message grows any more, and no call is left open. */
  endTurn(): void {
    this.close();
    for (const item of this.items) {
      if (item.kind !== 'tool' || (item.status !== 'pending' && item.status !== 'in_progress')) continue;
      item.status = 'failed';
      item.ask = null;
      this.put(item);
    }
  }

  setMeta(meta: Partial<Meta>): void {
    Object.assign(this.meta, meta);
    this.told({ op: 'meta', meta });
  }

  /** How many messages of the person stand from that one on, itself included. */
  messagesFrom(id: string): number {
    const from = this.items.findIndex((item) => item.id === id);
    return from < 0 ? 0 : this.items.slice(from).filter((item) => item.kind === 'user').length;
  }

  private grow(kind: TextItem['kind'], content: Block, messageId: string | null | undefined): void {
    const { text } = shown(content);
    const last = this.items.at(-1);
    if (last?.kind === kind && last.open && this.message === messageId) {
      last.text += text;
      this.told({ op: 'grow', id: last.id, text });
      return;
    }
    this.close();
    this.message = messageId;
    this.put({ kind, id: this.newId(), text, open: true });
  }

  private growUser(content: Block, messageId: string | null | undefined): void {
    const { text, picture, attachment } = shown(content);
    const last = this.items.at(-1);
    const joins = last?.kind === 'user' && this.message === messageId;
    if (!joins) this.close();
    this.message = messageId;
    const item: UserItem = joins ? last : { kind: 'user', id: this.newId(), text: '', pictures: [], attachments: [] };
    item.text += text;
    if (picture) item.pictures = [...item.pictures, picture];
    if (attachment) item.attachments = [...item.attachments, attachment];
    this.put(item);
  }

  private applyTool(update: ToolUpdate): void {
    const known = this.tools.has(update.toolCallId);
    const item = this.tool(update.toolCallId);
    const output = change(item, update);
    if (item.status === 'completed' || item.status === 'failed') item.ask = null;
    if (known && output !== null) this.told({ op: 'output', id: item.id, text: output });
    else this.put(item);
  }

  private tool(callId: string): Extract<Item, { kind: 'tool' }> {
    const known = this.byId.get(this.tools.get(callId) ?? '');
    if (known?.kind === 'tool') return known;
    this.close();
    const item = newTool(this.newId(), callId);
    this.tools.set(callId, item.id);
    return item;
  }

  private applyMeta(update: Update): void {
    switch (update.sessionUpdate) {
      case 'plan':
        return this.setMeta({ plan: update.entries.map(({ content, status }) => ({ content, status })) as Meta['plan'] });
      case 'available_commands_update':
        return this.setMeta({
          commands: update.availableCommands.map(({ name, description, input }) => ({
            name,
            description,
            hint: input && 'hint' in input ? String(input.hint) : '',
          })),
        });
      case 'current_mode_update':
        return this.setMeta({ pickers: withMode(this.meta.pickers, update.currentModeId) });
      case 'config_option_update':
        return this.setMeta({ pickers: pickersOf(update.configOptions) });
      case 'session_info_update':
        if (typeof update.title === 'string') this.setMeta({ title: update.title });
        return undefined;
      case 'usage_update': {
        const { used, size, cost } = update;
        return this.setMeta({ usage: { used, size, cost: cost ? `${cost.amount.toFixed(2)} ${cost.currency}` : '' } });
      }
      case 'compaction_update':
        return this.compaction(update.status, update.compactionId);
      default:
        return undefined;
    }
  }

  private compaction(status: string | null | undefined, compactionId: string): void {
    const titles: Record<string, string> = {
      in_progress: 'Summarising the conversation to make room…',
      completed: 'The conversation was summarised to make room.',
      failed: 'The conversation could not be summarised.',
      cancelled: 'Summarising was cancelled.',
    };
    const title = titles[status ?? ''];
    if (!title) return;
    this.close();
    this.put({ kind: 'notice', id: `compaction-${compactionId}`, severity: status === 'failed' ? 'warning' : 'info', title, text: '' });
  }

  private close(): void {
    this.message = undefined;
    const last = this.items.at(-1);
    if (!last || !('open' in last) || !last.open) return;
    last.open = false;
    this.put(last);
  }

  private put(item: Item): void {
    if (!this.byId.has(item.id)) this.items.push(item);
    this.byId.set(item.id, item);
    this.told({ op: 'put', item });
  }

  private newId(): string {
    this.next += 1;
    return `i${this.next}`;
  }
}
