// A tool call as it is announced and changed: later fields replace earlier ones, output of a command is added. Pure.
import type { PermissionRequest, Update } from '../rpc/agent.ts';
import { shown } from './blocks.ts';
import type { Ask, Diff, Place, Picture, ToolItem, ToolStatus } from './items.ts';

export type ToolUpdate = Extract<Update, { sessionUpdate: 'tool_call' | 'tool_call_update' }>;
type Fields = Pick<ToolUpdate, 'title' | 'kind' | 'status' | 'content' | 'locations' | 'name' | '_meta'>;

const OUTPUT_KEPT = 256 * 1024;

export function newTool(id: string, callId: string): ToolItem {
  return {
    kind: 'tool',
    id,
    callId,
    title: '',
    name: '',
    does: 'other',
    status: 'pending',
    places: [],
    diffs: [],
    texts: [],
    pictures: [],
    terminal: null,
    ask: null,
  };
}

/** Changes a call by an update; returns the output that was added when nothing else changed, else null. */
export function change(item: ToolItem, fields: Fields): string | null {
  const before = JSON.stringify([item.title, item.status, item.does]);
  if (fields.title) item.title = fields.title;
  if (fields.name) item.name = fields.name;
  if (fields.kind) item.does = fields.kind;
  if (fields.status) item.status = fields.status as ToolStatus;
  if (fields.locations) item.places = fields.locations.map(({ path, line }): Place => ({ path, line: line ?? null }));
  const hadTerminal = item.terminal !== null;
  if (fields.content) setContent(item, fields.content);
  const added = addTerminal(item, (fields._meta ?? {}) as TerminalMeta);
  const same = hadTerminal && before === JSON.stringify([item.title, item.status, item.does]);
  return same && added !== null && !fields.locations ? added : null;
}

function setContent(item: ToolItem, content: NonNullable<Fields['content']>): void {
  const diffs: Diff[] = [];
  const texts: string[] = [];
  const pictures: Picture[] = [];
  for (const part of content) {
    if (part.type === 'diff') {
      diffs.push({ path: part.path, oldText: part.oldText ?? null, newText: part.newText });
    } else if (part.type === 'content') {
      const { text, picture, attachment } = shown(part.content);
      if (text) texts.push(text);
      if (picture) pictures.push(picture);
      if (attachment) texts.push(attachment.label);
    } else {
      item.terminal ??= { output: '', exit: null };
    }
  }
  Object.assign(item, { diffs, texts, pictures });
}

interface TerminalMeta {
  readonly terminal_info?: unknown;
  readonly terminal_output?: { readonly data?: unknown };
  readonly terminal_exit?: { readonly exit_code?: number | null; readonly signal?: string | null };
}

function addTerminal(item: ToolItem, meta: TerminalMeta): string | null {
  if (meta.terminal_info) item.terminal ??= { output: '', exit: null };
  const data = meta.terminal_output?.data;
  if (typeof data === 'string') {
    item.terminal ??= { output: '', exit: null };
    item.terminal.output = (item.terminal.output + data).slice(-OUTPUT_KEPT);
  }
  if (meta.terminal_exit && item.terminal) {
    item.terminal.exit = { code: meta.terminal_exit.exit_code ?? null, signal: meta.terminal_exit.signal ?? null };
    return null;
  }
  return typeof data === 'string' ? data : null;
}

/** Returns the question of a permission request: its own words without what the card shows anyway. */
export function askOf(id: string, request: PermissionRequest): Ask {
  const texts = (request.toolCall.content ?? []).flatMap((part) =>
    part.type === 'content' && part.content.type === 'text' ? [part.content.text] : [],
  );
  const options = request.options.map(({ optionId, name, kind }) => ({ id: optionId, name, kind }));
  return { id, text: texts.join('\n\n'), options };
}
