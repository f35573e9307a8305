// All conversations that are open at once: which one is shown, where an update belongs, what survives a reload.
import type { Agent, Calls, PermissionOutcome, PermissionRequest, SessionInfo, Update } from '../rpc/agent.ts';
import { failureOf, type Failure } from '../rpc/failure.ts';
import type { Change } from './items.ts';
import { Thread } from './thread.ts';

export interface Saved {
  readonly open: readonly { readonly sessionId: string; readonly cwd: string; readonly title: string }[];
  readonly active: string;
}

export interface Ports {
  cwd(): string;
  /** The mode in which a conversation begins; empty for the agent's own choice. */
  defaultMode(): string;
  /** A conversation changed. */
  changed(thread: Thread, change: Change): void;
  /** Another conversation is shown, or others are open. */
  switched(): void;
  needsAuth(failure: Failure): void;
  failed(failure: Failure): void;
  save(saved: Saved): void;
}

const MOST_EARLY = 20;

export class Threads {
  readonly open: Thread[] = [];
  active: Thread | null = null;
  private agent: Agent | null = null;
  private readonly ports: Ports;
  /** Updates that overtook the answer which names their session. */
  private readonly early = new Map<string, Update[]>();

  constructor(ports: Ports, saved: Saved | undefined) {
    this.ports = ports;
    for (const { sessionId, cwd, title } of saved?.open ?? []) {
      const thread = this.make(sessionId, cwd);
      thread.stale = true;
      thread.transcript.meta.title = title;
      this.open.push(thread);
    }
    this.active = this.open.find((thread) => thread.sessionId === saved?.active) ?? this.open.at(-1) ?? null;
  }

  /** What the agent asks of the editor that belongs to a conversation. */
  readonly calls: Pick<Calls, 'update' | 'permission'> = {
    update: (sessionId: string, update: Update) => {
      const thread = this.find(sessionId);
      if (thread) thread.receive(update);
      else this.keep(sessionId, update);
    },
    permission: (request: PermissionRequest, signal: AbortSignal): Promise<PermissionOutcome> =>
      this.find(request.sessionId)?.permission(request, signal) ?? Promise.resolve({ outcome: 'cancelled' }),
  };

  /** The server is there: the shown conversation goes on, or the first one begins. The others follow when shown. */
  async attach(agent: Agent): Promise<void> {
    this.agent = agent;
    for (const thread of this.open) if (thread !== this.active && !thread.stale) thread.detach('');
    if (this.active) await this.guard(() => this.active!.attach(agent));
    else await this.create();
  }

  /** The server is gone. Conversations in the middle of a turn are told why. */
  detach(why: string): void {
    this.agent = null;
    for (const thread of this.open) thread.detach(why);
  }

  /** Begins a conversation and shows it; one that is still empty is taken instead of another empty one. */
  async create(): Promise<void> {
    const empty = this.open.find((thread) => !thread.begun && !thread.meta.loading && !thread.stale && thread.sessionId);
    if (empty) return this.show(empty);
    const agent = this.agent;
    if (!agent) return;
    const thread = this.make('', this.ports.cwd());
    thread.stale = true;
    await this.guard(async () => {
      this.open.push(thread);
      try {
        await thread.start(agent);
      } catch (thrown) {
        this.open.splice(this.open.indexOf(thread), 1);
        throw thrown;
      }
      await this.show(thread);
      await this.beginIn(thread, this.ports.defaultMode());
    });
  }

  private async beginIn(thread: Thread, mode: string): Promise<void> {
    const picker = thread.meta.pickers.find((one) => one.category === 'mode');
    const known = picker?.choices.some((choice) => choice.value === mode) === true;
    if (picker && known && picker.current !== mode) await thread.choose(picker.id, mode);
  }

  /** Opens a stored session, or shows it when it is open. */
  async load(sessionId: string, cwd: string, title: string): Promise<void> {
    let thread = this.find(sessionId);
    if (!thread) {
      thread = this.make(sessionId, cwd);
      thread.stale = true;
      thread.transcript.meta.title = title;
      this.open.push(thread);
    }
    await this.show(thread);
  }

  async show(thread: Thread): Promise<void> {
    this.active = thread;
    this.ports.switched();
    this.save();
    const agent = this.agent;
    if (agent && thread.stale) await this.guard(() => thread.attach(agent));
  }

  /** Takes a conversation out of the open ones; it stays stored. */
  async close(thread: Thread): Promise<void> {
    await this.drop(thread);
    if (thread.sessionId) await this.guard(async () => this.agent?.closeSession(thread.sessionId));
  }

  async remove(sessionId: string): Promise<void> {
    await this.guard(async () => {
      await this.agent?.deleteSession(sessionId);
      const thread = this.find(sessionId);
      if (thread) await this.drop(thread);
    });
  }

  /** Opens a copy of a conversation and shows it. */
  async fork(sessionId: string, cwd: string, title: string): Promise<void> {
    await this.guard(async () => {
      const child = await this.agent?.fork(sessionId);
      if (child) await this.load(child, cwd, title);
    });
  }

  async rename(sessionId: string, title: string): Promise<void> {
    await this.guard(async () => {
      const thread = this.find(sessionId);
      if (thread) await thread.rename(title);
      else await this.agent?.rename(sessionId, title);
      this.ports.switched();
    });
  }

  /** Returns all stored sessions of this folder, up to a few hundred, the newest first. */
  async stored(): Promise<SessionInfo[]> {
    const found: SessionInfo[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.agent?.listSessions(this.ports.cwd(), cursor);
      found.push(...(page?.sessions ?? []));
      cursor = page?.next;
    } while (cursor && found.length < 500);
    return found;
  }

  find(sessionId: string): Thread | undefined {
    return this.open.find((thread) => thread.sessionId === sessionId);
  }

  /** Keeps which conversations are open; empty ones are stored nowhere and cannot come back. */
  save(): void {
    const kept = this.open.filter((thread) => thread.sessionId && (thread.begun || thread.stale));
    this.ports.save({
      open: kept.map(({ sessionId, cwd, meta }) => ({ sessionId, cwd, title: meta.title })),
      active: this.active?.sessionId ?? '',
    });
  }

  private async drop(thread: Thread): Promise<void> {
    const place = this.open.indexOf(thread);
    if (place < 0) return;
    this.open.splice(place, 1);
    if (this.active !== thread) {
      this.ports.switched();
      this.save();
      return;
    }
    const next = this.open[place] ?? this.open[place - 1];
    this.active = null;
    if (next) await this.show(next);
    else await this.create();
  }

  private make(sessionId: string, cwd: string): Thread {
    return new Thread(this.agent, sessionId, cwd, {
      changed: (thread, change) => {
        this.ports.changed(thread, change);
        if (change.op === 'meta' && (change.meta.title !== undefined || change.meta.running !== undefined)) this.save();
      },
      opened: ({ sessionId }) => {
        const updates = this.early.get(sessionId) ?? [];
        this.early.clear();
        for (const update of updates) this.find(sessionId)?.receive(update);
      },
      needsAuth: (failure) => this.ports.needsAuth(failure),
    });
  }

  private keep(sessionId: string, update: Update): void {
    const updates = this.early.get(sessionId) ?? [];
    if (updates.length < MOST_EARLY && this.early.size < MOST_EARLY) this.early.set(sessionId, [...updates, update]);
  }

  private async guard(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const failure = failureOf(thrown);
      if (failure.needsAuth) this.ports.needsAuth(failure);
      else this.ports.failed(failure);
    }
  }
}
