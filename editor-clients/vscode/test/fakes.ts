// An agent of the reference SDK on the other end of two pipes, and one whose answers a test gives by hand.
import * as acp from '@agentclientprotocol/sdk';
import { Agent, type Calls, type ConfigOption, type Features, type Opened, type UndoPreview, type Update } from '../src/rpc/agent.ts';
import type { Change } from '../src/session/items.ts';

/** Joins an agent app and our client by pipes of bytes. */
export function pair(app: acp.AgentApp, calls: Partial<Calls> = {}): Agent {
  const there = new TransformStream<Uint8Array, Uint8Array>();
  const back = new TransformStream<Uint8Array, Uint8Array>();
  app.connect(acp.ndJsonStream(back.writable, there.readable));
  return new Agent(acp.ndJsonStream(there.writable, back.readable), {
    update: () => undefined,
    permission: () => Promise.resolve({ outcome: 'cancelled' }),
    readFile: () => Promise.resolve(''),
    writeFile: () => Promise.resolve(),
    ...calls,
  });
}

export const ALL: Features = {
  name: 'fake',
  load: true,
  list: true,
  remove: true,
  images: true,
  steer: true,
  rename: true,
  fork: true,
  undo: true,
};

export interface Turn {
  readonly blocks: acp.ContentBlock[];
  end(reason: string): void;
  fail(error: unknown): void;
}

/** An agent by hand: turns end when the test says so, calls are kept in order. */
export class FakeAgent {
  features = ALL;
  over = false;
  readonly calls: string[] = [];
  readonly turns: Turn[] = [];
  history: Update[] = [];
  deliver: (sessionId: string, update: Update) => void = () => undefined;
  private sessions = 0;

  get agent(): Agent {
    return this as unknown as Agent;
  }

  newSession(): Promise<Opened> {
    this.sessions += 1;
    const sessionId = `s${this.sessions}`;
    this.calls.push(`new ${sessionId}`);
    return Promise.resolve({ sessionId, configOptions: [], modes: null });
  }

  /** What the next loads are refused with. */
  refusals: Error[] = [];

  loadSession(sessionId: string): Promise<Opened> {
    this.calls.push(`load ${sessionId}`);
    const refusal = this.refusals.shift();
    if (refusal) return Promise.reject(refusal);
    for (const update of this.history) this.deliver(sessionId, update);
    return Promise.resolve({ sessionId, configOptions: [], modes: null });
  }

  prompt(sessionId: string, blocks: acp.ContentBlock[]): Promise<string> {
    this.calls.push(`prompt ${sessionId}`);
    return new Promise((resolve, reject) => this.turns.push({ blocks, end: resolve, fail: reject }));
  }

  steer(sessionId: string): Promise<void> {
    this.calls.push(`steer ${sessionId}`);
    return Promise.resolve();
  }

  undo(sessionId: string, back: number, apply: boolean): Promise<UndoPreview> {
    this.calls.push(`undo ${sessionId} ${back} ${apply}`);
    return Promise.resolve({ messages: [], files: [], conflicts: [], applied: apply });
  }

  setOption(sessionId: string, id: string, value: string): Promise<readonly ConfigOption[]> {
    this.calls.push(`set ${sessionId} ${id} ${value}`);
    return Promise.resolve([{ id, name: 'Model', type: 'select', currentValue: value, options: [{ value, name: 'M' }] }]);
  }

  cancel(sessionId: string): Promise<void> {
    this.calls.push(`cancel ${sessionId}`);
    return Promise.resolve();
  }

  closeSession(sessionId: string): Promise<void> {
    this.calls.push(`close ${sessionId}`);
    return Promise.resolve();
  }

  deleteSession(sessionId: string): Promise<void> {
    this.calls.push(`delete ${sessionId}`);
    return Promise.resolve();
  }

  fork(sessionId: string): Promise<string> {
    this.calls.push(`fork ${sessionId}`);
    return Promise.resolve('forked');
  }
}

/** Lets what is due run. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Returns a list of changes and the function that fills it with copies. */
export function recorder(): { changes: Change[]; told: (change: Change) => void } {
  const changes: Change[] = [];
  return { changes, told: (change) => changes.push(structuredClone(change)) };
}

export const text = (words: string): acp.ContentBlock => ({ type: 'text', text: words });
