// What the chat page and the extension say to each other. Values only: no protocol, no editor, no element of a page.
import type { Change, Draft, Item, Mention, Meta } from '../../session/items.ts';

/** Whether one can talk to the agent, and if not, what to do about it. */
export type State =
  | { readonly is: 'starting' }
  | { readonly is: 'ready' }
  | { readonly is: 'restarting'; readonly why: string }
  | { readonly is: 'missing'; readonly looked: readonly string[] }
  | { readonly is: 'failed'; readonly why: string }
  | { readonly is: 'auth'; readonly why: string; readonly methods: readonly Method[] };

export interface Method {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

export interface Tab {
  readonly key: string;
  readonly title: string;
  readonly running: boolean;
  readonly asking: boolean;
  readonly active: boolean;
}

export interface StoredSession {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  /** Milliseconds since 1970; 0 when not told. */
  readonly updated: number;
  readonly open: boolean;
}

export interface Can {
  readonly images: boolean;
  readonly list: boolean;
  readonly remove: boolean;
  readonly steer: boolean;
  readonly rename: boolean;
  readonly fork: boolean;
  readonly undo: boolean;
}

export interface Looks {
  readonly thoughts: 'collapsed' | 'expanded' | 'hidden';
  readonly sendWith: 'enter' | 'ctrlEnter';
}

/** A row of the completion behind `@`. */
export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  readonly mention: Mention;
}

export type ToPage =
  | { readonly type: 'state'; readonly state: State; readonly can: Can; readonly looks: Looks }
  | { readonly type: 'tabs'; readonly tabs: readonly Tab[] }
  | { readonly type: 'thread'; readonly key: string; readonly items: readonly Item[]; readonly meta: Meta }
  | { readonly type: 'changes'; readonly key: string; readonly changes: readonly Change[] }
  | { readonly type: 'sessions'; readonly sessions: readonly StoredSession[] }
  | { readonly type: 'suggestions'; readonly asked: number; readonly rows: readonly Suggestion[] }
  | { readonly type: 'mention'; readonly mention: Mention }
  | { readonly type: 'draft'; readonly draft: Draft }
  | { readonly type: 'page'; readonly page: 'chat' | 'sessions' }
  | { readonly type: 'focus' };

export type Action = 'install' | 'settings' | 'restart' | 'log' | 'walkthrough';

export type FromPage =
  | { readonly type: 'ready' }
  | { readonly type: 'send'; readonly draft: Draft }
  | { readonly type: 'stop' }
  | { readonly type: 'unqueue'; readonly id: string }
  | { readonly type: 'sendQueued'; readonly id: string }
  | { readonly type: 'answer'; readonly ask: string; readonly option: string }
  | { readonly type: 'choose'; readonly picker: string; readonly value: string }
  | { readonly type: 'new' }
  | { readonly type: 'show'; readonly key: string }
  | { readonly type: 'close'; readonly key: string }
  | { readonly type: 'list' }
  | { readonly type: 'open'; readonly session: StoredSession }
  | { readonly type: 'rename'; readonly session: StoredSession }
  | { readonly type: 'fork'; readonly session: StoredSession }
  | { readonly type: 'delete'; readonly session: StoredSession }
  | { readonly type: 'undo'; readonly item: string }
  | { readonly type: 'diff'; readonly item: string; readonly index: number }
  | { readonly type: 'place'; readonly path: string; readonly line: number | null }
  | { readonly type: 'uri'; readonly uri: string }
  | { readonly type: 'copy'; readonly text: string }
  | { readonly type: 'insert'; readonly text: string }
  | { readonly type: 'suggest'; readonly asked: number; readonly query: string }
  | { readonly type: 'act'; readonly action: Action }
  | { readonly type: 'authenticate'; readonly method: string };
