// Joins the four parts: the process that is kept running, the connection to it, the conversations, and what is shown.
import * as vscode from 'vscode';
import { Supervisor, type Status } from '../../process/supervisor.ts';
import { inWords, type Server } from '../../process/server.ts';
import { Agent } from '../../rpc/agent.ts';
import { failureOf, type Failure } from '../../rpc/failure.ts';
import { wire } from '../../rpc/stream.ts';
import type { Change } from '../../session/items.ts';
import type { Thread } from '../../session/thread.ts';
import { Threads, type Saved } from '../../session/threads.ts';
import type { Can, State } from '../shared/messages.ts';
import { readFile, writeFile } from './buffers.ts';
import { notifyOfChange } from './notify.ts';
import * as settings from './settings.ts';
import { ChatView } from './view.ts';

const SAVED = 'threads';
const HANDSHAKE_MS = 60_000;
const DEMO = 'demo';

export class App {
  readonly threads: Threads;
  readonly view: ChatView;
  readonly supervisor: Supervisor;
  readonly log: vscode.OutputChannel;
  agent: Agent | null = null;
  private state: State = { is: 'starting' };
  private readonly context: vscode.ExtensionContext;

  constructor(context: vscode.ExtensionContext) {
    this.context = context;
    this.log = vscode.window.createOutputChannel('acp-server');
    this.view = new ChatView(context.extensionUri, () => this.threads);
    this.threads = new Threads(
      {
        cwd: settings.folder,
        defaultMode: settings.defaultMode,
        changed: (thread, change) => this.changed(thread, change),
        switched: () => this.switched(),
        needsAuth: (failure) => this.needsAuth(failure),
        failed: (failure) => this.failed(failure),
        save: (saved) => void context.workspaceState.update(SAVED, saved),
      },
      context.workspaceState.get<Saved>(SAVED),
    );
    this.supervisor = new Supervisor({
      wishes: settings.wishes,
      cwd: settings.folder,
      env: settings.environment,
      log: (text) => this.log.append(text),
      onServer: (server) => void this.connect(server),
      onStatus: (status) => this.told(status),
    });
  }

  /** Tells the page whether one can talk to the agent. */
  showState(): void {
    const { images, list, remove, steer, rename, fork, undo } = this.agent?.features ?? NOTHING;
    const can: Can = { images, list, remove, steer, rename, fork, undo };
    this.view.post({ type: 'state', state: this.state, can, looks: settings.looks() }, false);
  }

  async authenticate(method: string): Promise<void> {
    try {
      await this.agent?.authenticate(method);
      await this.ready();
    } catch (thrown) {
      this.needsAuth(failureOf(thrown));
    }
  }

  async stop(): Promise<void> {
    await this.supervisor.stop();
    this.log.dispose();
  }

  private get version(): string {
    return String((this.context.extension.packageJSON as { version?: unknown }).version);
  }

  private async connect(server: Server): Promise<void> {
    const tap = settings.logsWire() ? (way: string, line: string) => this.log.append(`${way}: ${line}`) : undefined;
    const agent = new Agent(wire(server.pipes.input, server.pipes.output, tap), {
      ...this.threads.calls,
      readFile,
      writeFile,
    });
    void server.exited.then((exit) => this.disconnected(agent, inWords(exit)));
    try {
      await within(HANDSHAKE_MS, agent.initialize(this.version));
    } catch (thrown) {
      // The end of the process is told by the supervisor.
      if (!agent.over) this.become({ is: 'failed', why: `The server did not shake hands: ${failureOf(thrown).message}` });
      return;
    }
    this.agent = agent;
    await this.ready();
  }

  /** The agent answers: what is open goes on. */
  private async ready(): Promise<void> {
    if (!this.agent) return;
    this.become({ is: 'ready' });
    await this.threads.attach(this.agent);
    this.view.showTabs();
  }

  private disconnected(agent: Agent, why: string): void {
    agent.close();
    if (this.agent !== agent) return;
    this.agent = null;
    this.threads.detach(why);
  }

  private told(status: Status): void {
    if (status.is === 'starting' && this.state.is !== 'restarting') this.become({ is: 'starting' });
    if (status.is === 'waiting') this.become({ is: 'restarting', why: status.why });
    if (status.is === 'missing') this.become({ is: 'missing', looked: status.looked });
    if (status.is === 'failed') this.become({ is: 'failed', why: `${status.why} It was started again several times.` });
  }

  private needsAuth(failure: Failure): void {
    const methods = this.agent?.authMethods ?? [];
    const order = [...methods].sort((a, b) => Number(a.id === DEMO) - Number(b.id === DEMO));
    this.become({ is: 'auth', why: failure.message, methods: order.map(({ id, name, description }) => ({ id, name, description })) });
  }

  private failed(failure: Failure): void {
    if (this.agent && !this.agent.over) void vscode.window.showErrorMessage(`acp-server: ${failure.message}`);
  }

  private become(state: State): void {
    this.state = state;
    void vscode.commands.executeCommand('setContext', 'acpServer.state', state.is);
    this.showState();
  }

  private changed(thread: Thread, change: Change): void {
    this.view.changed(thread, change);
    notifyOfChange(this, thread, change);
  }

  private switched(): void {
    this.view.showThread();
    this.view.showTabs();
  }
}

/** Returns what comes in time, else fails. */
function within<Value>(ms: number, coming: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it was silent for ${ms / 1_000} seconds.`)), ms);
  });
  return Promise.race([coming, late]).finally(() => clearTimeout(timer));
}

const NOTHING: Can = { images: false, list: false, remove: false, steer: false, rename: false, fork: false, undo: false };
