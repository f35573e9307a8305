// One conversation: sends what the person writes one turn after the other, keeps what waits, stops, asks, and is shown
// again after the server came back. Knows the agent by its calls alone.
import type { Agent, Opened, PermissionOutcome, PermissionRequest, UndoPreview, Update } from '../rpc/agent.ts';
import { failureOf, type Failure } from '../rpc/failure.ts';
import { promptOf, uriOf } from './blocks.ts';
import type { Change, Draft, UserItem } from './items.ts';
import { MODES, pickersOf, pickersOfOpened, withMode } from './pickers.ts';
import { Transcript } from './transcript.ts';

export interface Ports {
  changed(thread: Thread, change: Change): void;
  /** The conversation has got its session; what came for it before can be given to it. */
  opened(thread: Thread): void;
  /** The agent wants a key first; the draft waits in the queue. */
  needsAuth(failure: Failure): void;
}

interface OpenAsk {
  readonly callId: string;
  settle(outcome: PermissionOutcome): void;
}

const CANCELLED: PermissionOutcome = { outcome: 'cancelled' };
const LOAD_TRIES = 6;
const LOAD_PAUSE_MS = 500;
const UNDONE = /^\/undo\b.*\bgo\s*$/;
const ENDS: Record<string, string> = {
  cancelled: 'Stopped.',
  max_tokens: 'The answer reached the longest length that the model allows.',
  max_turn_requests: 'The turn reached the most steps that one turn may have.',
  refusal: 'The model refused to answer.',
};

let made = 0;

export class Thread {
  /** Names the conversation in this window; a session's id can change while it is empty. */
  readonly key: string;
  readonly transcript: Transcript;
  readonly cwd: string;
  sessionId: string;
  /** Whether the conversation has to be loaded before it can go on. */
  stale = false;
  private agent: Agent | null;
  private readonly ports: Ports;
  private readonly asks = new Map<string, OpenAsk>();
  private nextAsk = 0;
  /** Why the last turn ended in its middle; it is told again when the conversation is shown again. */
  private interrupted = '';

  constructor(agent: Agent | null, sessionId: string, cwd: string, ports: Ports) {
    made += 1;
    this.key = `t${made}`;
    this.agent = agent;
    this.sessionId = sessionId;
    this.cwd = cwd;
    this.ports = ports;
    this.transcript = new Transcript((change) => this.ports.changed(this, change));
  }

  get meta(): Transcript['meta'] {
    return this.transcript.meta;
  }

  get asking(): boolean {
    return this.asks.size > 0;
  }

  /** Whether the person has said anything here; what is empty is stored nowhere. */
  get begun(): boolean {
    return this.transcript.items.some((item) => item.kind === 'user');
  }

  receive(update: Update): void {
    this.transcript.apply(update);
  }

  /** Sends what was written, or lets it wait for the turn that runs. */
  send(draft: Draft): void {
    if (this.meta.running || this.meta.loading || this.stale || !this.agent) this.queue([...this.meta.queue, draft]);
    else void this.run(draft, this.agent);
  }

  unqueue(id: string): Draft | undefined {
    const draft = this.meta.queue.find((one) => one.id === id);
    this.queue(this.meta.queue.filter((one) => one.id !== id));
    return draft;
  }

  /** Sends a waiting draft: into the running turn where the agent takes that, else as the next prompt. */
  async sendQueued(id: string): Promise<void> {
    const agent = this.agent;
    const draft = this.unqueue(id);
    if (!draft) return;
    if (!this.meta.running || !agent?.features.steer) {
      this.queue([draft, ...this.meta.queue]);
      if (!this.meta.running) this.advance();
      return;
    }
    this.transcript.addUser(userOf(draft));
    await agent.steer(this.sessionId, promptOf(draft)).catch((thrown) => this.fail(thrown));
  }

  /** Stops the running turn; what waits stays waiting. */
  async stop(): Promise<void> {
    this.settleAll();
    if (this.meta.running) await this.agent?.cancel(this.sessionId);
  }

  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionOutcome> {
    this.nextAsk += 1;
    const id = `ask${this.nextAsk}`;
    const { toolCallId: callId } = request.toolCall;
    return new Promise((resolve) => {
      const settle = (outcome: PermissionOutcome): void => {
        if (!this.asks.delete(id)) return;
        this.transcript.answered(callId);
        resolve(outcome);
      };
      this.asks.set(id, { callId, settle });
      signal.addEventListener('abort', () => settle(CANCELLED), { once: true });
      this.transcript.ask(id, request);
    });
  }

  answer(askId: string, optionId: string): void {
    this.asks.get(askId)?.settle({ outcome: 'selected', optionId });
  }

  async choose(pickerId: string, value: string): Promise<void> {
    const agent = this.agent;
    if (!agent) return;
    try {
      if (pickerId === MODES) {
        await agent.setMode(this.sessionId, value);
        this.transcript.setMeta({ pickers: withMode(this.meta.pickers, value) });
      } else {
        const options = await agent.setOption(this.sessionId, pickerId, value);
        this.transcript.setMeta({ pickers: pickersOf(options) });
      }
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  async rename(title: string): Promise<void> {
    await this.agent?.rename(this.sessionId, title);
    this.transcript.setMeta({ title });
  }

  /** Shows what going back before a message would change. */
  undoPreview(itemId: string): Promise<UndoPreview> | undefined {
    return this.agent?.undo(this.sessionId, this.transcript.messagesFrom(itemId), false);
  }

  /** Goes back before a message, files included, and shows the conversation as it is then. */
  async undo(itemId: string): Promise<UndoPreview | undefined> {
    const agent = this.agent;
    const done = await agent?.undo(this.sessionId, this.transcript.messagesFrom(itemId), true);
    if (agent && done?.applied) await this.load(agent);
    return done;
  }

  /** The server is gone: the turn has ended, nothing can be asked any more. */
  detach(why: string): void {
    if (this.meta.running) {
      this.interrupted = why;
      this.tellInterrupted();
    }
    this.agent = null;
    this.stale = true;
    this.settleAll();
  }

  private tellInterrupted(): void {
    this.transcript.notice('warning', 'The turn was interrupted.', this.interrupted);
  }

  /** Shows the stored conversation again and goes on with it; a conversation that never began starts anew. */
  async attach(agent: Agent): Promise<void> {
    this.agent = agent;
    if (this.meta.loading) return;
    if (!this.stale) return this.advance();
    if (this.begun || this.sessionId) await this.load(agent);
    else await this.start(agent);
  }

  /** Opens a new session for this conversation. */
  async start(agent: Agent): Promise<void> {
    const opened = await agent.newSession(this.cwd);
    this.agent = agent;
    this.sessionId = opened.sessionId;
    this.stale = false;
    this.transcript.setMeta({ pickers: pickersOfOpened(opened) });
    this.ports.opened(this);
    this.advance();
  }

  /** The session is nowhere: the conversation begins again under another one. */
  private async startAnew(agent: Agent): Promise<void> {
    this.transcript.setMeta({ title: '' });
    await this.start(agent);
  }

  private async load(agent: Agent): Promise<void> {
    const before = this.begun;
    this.transcript.setMeta({ loading: true });
    this.transcript.clear();
    try {
      const opened = await this.open(agent);
      this.stale = false;
      this.transcript.endTurn();
      this.transcript.setMeta({ pickers: pickersOfOpened(opened) });
      if (this.interrupted) this.tellInterrupted();
      this.interrupted = '';
    } catch (thrown) {
      const failure = failureOf(thrown);
      if (failure.notFound && !before) await this.startAnew(agent);
      else if (!agent.over) this.transcript.notice('error', 'This conversation cannot be shown.', failure.message);
    } finally {
      this.transcript.setMeta({ loading: false });
    }
    this.advance();
  }

  /** Loads the session; one that the server of another window still holds is tried again for a few seconds. */
  private async open(agent: Agent): Promise<Opened> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await agent.loadSession(this.sessionId, this.cwd);
      } catch (thrown) {
        if (!failureOf(thrown).wrongMoment || tries === LOAD_TRIES) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, LOAD_PAUSE_MS));
      }
    }
  }

  private async run(draft: Draft, agent: Agent): Promise<void> {
    this.transcript.addUser(userOf(draft));
    this.transcript.setMeta({ running: true });
    let reason = '';
    try {
      reason = await agent.prompt(this.sessionId, promptOf(draft));
      this.transcript.endTurn();
      const words = ENDS[reason];
      if (words) this.transcript.notice(reason === 'cancelled' ? 'info' : 'warning', words);
    } catch (thrown) {
      this.transcript.endTurn();
      const failure = failureOf(thrown);
      if (failure.needsAuth) {
        this.queue([draft, ...this.meta.queue]);
        this.ports.needsAuth(failure);
      } else if (!agent.over) this.transcript.notice('error', 'The turn failed.', failure.message);
      reason = 'failed';
    }
    this.transcript.setMeta({ running: false });
    // The command took messages back, which no update tells: what is left is shown again.
    if (reason === 'end_turn' && UNDONE.test(draft.text)) await this.load(agent);
    else if (reason === 'end_turn') this.advance();
  }

  private advance(): void {
    const [first, ...rest] = this.meta.queue;
    if (!first || this.meta.running || this.stale || !this.agent) return;
    this.queue(rest);
    void this.run(first, this.agent);
  }

  private queue(queue: readonly Draft[]): void {
    this.transcript.setMeta({ queue });
  }

  private settleAll(): void {
    for (const ask of [...this.asks.values()]) ask.settle(CANCELLED);
  }

  private fail(thrown: unknown): void {
    this.transcript.notice('error', failureOf(thrown).message);
  }
}

function userOf(draft: Draft): Omit<UserItem, 'kind' | 'id'> {
  const attachments = draft.mentions.map((mention) => ({ label: mention.label, uri: uriOf(mention) }));
  return { text: draft.text, pictures: [...draft.pictures], attachments };
}
