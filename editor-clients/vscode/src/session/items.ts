// What a conversation is made of, as plain values. The view draws these; nothing here knows the protocol or the editor.

export interface Picture {
  readonly mimeType: string;
  /** Plain base64. */
  readonly data: string;
}

export interface Attachment {
  readonly label: string;
  /** An address, with a fragment `#L3-L9` for lines. */
  readonly uri: string;
}

export interface UserItem {
  readonly kind: 'user';
  readonly id: string;
  text: string;
  pictures: Picture[];
  attachments: Attachment[];
}

export interface TextItem {
  readonly kind: 'answer' | 'thought';
  readonly id: string;
  text: string;
  /** Whether more may come. */
  open: boolean;
}

export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface Diff {
  readonly path: string;
  readonly oldText: string | null;
  readonly newText: string;
}

export interface Place {
  readonly path: string;
  readonly line: number | null;
}

export interface Terminal {
  output: string;
  exit: { code: number | null; signal: string | null } | null;
}

export interface AskOption {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

export interface Ask {
  readonly id: string;
  readonly text: string;
  readonly options: readonly AskOption[];
}

export interface ToolItem {
  readonly kind: 'tool';
  readonly id: string;
  readonly callId: string;
  title: string;
  name: string;
  /** The protocol's kind: read, edit, execute and so on. */
  does: string;
  status: ToolStatus;
  places: readonly Place[];
  diffs: readonly Diff[];
  texts: readonly string[];
  pictures: readonly Picture[];
  terminal: Terminal | null;
  /** What the person is asked about this call, until it is answered. */
  ask: Ask | null;
}

export interface NoticeItem {
  readonly kind: 'notice';
  readonly id: string;
  severity: 'info' | 'warning' | 'error';
  title: string;
  text: string;
}

export type Item = UserItem | TextItem | ToolItem | NoticeItem;

export interface PlanEntry {
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  readonly hint: string;
}

export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description: string;
  readonly group: string;
}

export interface Picker {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  readonly description: string;
  readonly current: string;
  readonly choices: readonly Choice[];
}

export interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost: string;
}

/** What holds for a whole conversation. */
export interface Meta {
  title: string;
  running: boolean;
  loading: boolean;
  plan: readonly PlanEntry[];
  commands: readonly SlashCommand[];
  pickers: readonly Picker[];
  usage: Usage | null;
  queue: readonly Draft[];
}

/** What the person wrote and has not been sent, or not been answered. */
export interface Draft {
  readonly id: string;
  readonly text: string;
  readonly pictures: readonly Picture[];
  readonly mentions: readonly Mention[];
}

/** A file, or a piece of one, that goes with a prompt. */
export interface Mention {
  readonly label: string;
  readonly path: string;
  /** First and last line, from 1; null for the whole file. */
  readonly lines: readonly [number, number] | null;
  /** The text of these lines; null for the whole file, which the agent reads itself. */
  readonly text: string | null;
}

/** One change of a conversation, in the order in which it happened. */
export type Change =
  | { readonly op: 'put'; readonly item: Item }
  | { readonly op: 'grow'; readonly id: string; readonly text: string }
  | { readonly op: 'output'; readonly id: string; readonly text: string }
  | { readonly op: 'meta'; readonly meta: Partial<Meta> };

export const EMPTY_META: Meta = {
  title: '',
  running: false,
  loading: false,
  plan: [],
  commands: [],
  pickers: [],
  usage: null,
  queue: [],
};
