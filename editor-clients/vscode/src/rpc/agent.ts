// The agent as typed calls over the protocol's SDK. Knows methods and shapes, draws nothing, keeps no conversation.
import * as acp from '@agentclientprotocol/sdk';
import { failureOf, type AuthMethod } from './failure.ts';

export type Update = acp.SessionUpdate;
export type Block = acp.ContentBlock;
export type ConfigOption = acp.SessionConfigOption;
export type PermissionRequest = acp.RequestPermissionRequest;
export type PermissionOutcome = acp.RequestPermissionOutcome;
export type SessionInfo = acp.SessionInfo;

export interface Opened {
  readonly sessionId: string;
  readonly configOptions: readonly ConfigOption[];
  readonly modes: acp.SessionModeState | null;
}

export interface UndoPreview {
  readonly kind?: string;
  readonly messages: readonly { messageId?: string; text: string }[];
  readonly files: readonly { path: string; change: string }[];
  readonly conflicts: readonly { path: string; reason: string }[];
  readonly notUndone?: readonly { tool: string; calls: number }[];
  readonly applied?: boolean;
  readonly error?: string;
}

/** What the agent asks of the editor. */
export interface Calls {
  update(sessionId: string, update: Update): void;
  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionOutcome>;
  readFile(path: string, line: number | undefined, limit: number | undefined): Promise<string>;
  writeFile(path: string, content: string): Promise<void>;
}

export interface Features {
  readonly name: string;
  readonly load: boolean;
  readonly list: boolean;
  readonly remove: boolean;
  readonly images: boolean;
  readonly steer: boolean;
  readonly rename: boolean;
  readonly fork: boolean;
  readonly undo: boolean;
}

const STEER = '_acp_server/session/steer';
const RENAME = '_acp_server/session/rename';
const FORK = '_acp_server/session/fork';
const UNDO = '_acp_server/session/undo';
const M = acp.methods.agent;

export class Agent {
  /** Resolves when the connection is over, for whatever reason. */
  readonly closed: Promise<void>;
  features: Features = NOTHING;
  authMethods: readonly AuthMethod[] = [];
  private readonly connection: acp.ClientConnection;

  constructor(stream: acp.Stream, calls: Calls) {
    this.connection = app(calls).connect(stream);
    this.closed = this.connection.closed.then(
      () => undefined,
      () => undefined,
    );
  }

  /** Whether the connection is over. */
  get over(): boolean {
    return this.connection.signal.aborted;
  }

  /** Shakes hands; what the agent can do is in `features` afterwards. */
  async initialize(version: string): Promise<void> {
    const answer = await this.request(M.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: 'acp-server-vscode', title: 'acp-server for VS Code', version },
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: false,
        auth: { terminal: true },
        session: { notices: {}, compaction: {} },
        _meta: { terminal_output: true },
      },
    });
    this.features = featuresOf(answer);
    this.authMethods = (answer.authMethods ?? []).map(authMethod);
  }

  async authenticate(methodId: string): Promise<void> {
    await this.request(M.authenticate, { methodId });
  }

  async newSession(cwd: string): Promise<Opened> {
    return opened(await this.request(M.session.new, { cwd, mcpServers: [] }));
  }

  /** Opens a stored session; its history comes as updates before this resolves. */
  async loadSession(sessionId: string, cwd: string): Promise<Opened> {
    const answer = await this.request(M.session.load, { sessionId, cwd, mcpServers: [] });
    return opened({ ...(answer ?? {}), sessionId });
  }

  /** Returns one page of the stored sessions of a folder, the newest first. */
  async listSessions(cwd: string | undefined, cursor?: string): Promise<{ sessions: SessionInfo[]; next?: string }> {
    const answer = await this.request(M.session.list, { ...(cwd ? { cwd } : {}), ...(cursor ? { cursor } : {}) });
    return { sessions: answer.sessions, ...(answer.nextCursor ? { next: answer.nextCursor } : {}) };
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.request(M.session.delete, { sessionId });
  }

  async closeSession(sessionId: string): Promise<void> {
    await this.request(M.session.close, { sessionId });
  }

  /** Sends a prompt; resolves with the reason for which the turn ended. */
  async prompt(sessionId: string, prompt: Block[]): Promise<string> {
    return (await this.request(M.session.prompt, { sessionId, prompt })).stopReason;
  }

  async cancel(sessionId: string): Promise<void> {
    await this.connection.agent.notify(M.session.cancel, { sessionId });
  }

  async setOption(sessionId: string, configId: string, value: string): Promise<readonly ConfigOption[]> {
    return (await this.request(M.session.setConfigOption, { sessionId, configId, value })).configOptions;
  }

  async setMode(sessionId: string, modeId: string): Promise<void> {
    await this.request(M.session.setMode, { sessionId, modeId });
  }

  async steer(sessionId: string, prompt: Block[]): Promise<void> {
    await this.extension(STEER, { sessionId, prompt });
  }

  async rename(sessionId: string, title: string): Promise<void> {
    await this.extension(RENAME, { sessionId, title });
  }

  /** Makes a session with this one's history; returns its id. */
  async fork(sessionId: string): Promise<string> {
    return (await this.extension<{ sessionId: string }>(FORK, { sessionId })).sessionId;
  }

  /** Shows what taking back the last `back` messages would change, or does it. */
  async undo(sessionId: string, back: number, apply: boolean): Promise<UndoPreview> {
    return this.extension(UNDO, { sessionId, back, apply });
  }

  close(): void {
    this.connection.close();
  }

  private async request<Method extends acp.AgentRequestMethod>(
    method: Method,
    params: acp.AgentRequestParamsByMethod[Method],
  ): Promise<acp.AgentRequestResponsesByMethod[Method]> {
    try {
      return await this.connection.agent.request(method, params);
    } catch (thrown) {
      throw failureOf(thrown);
    }
  }

  private async extension<Result>(method: string, params: object): Promise<Result> {
    try {
      return await this.connection.agent.request<Result>(method, params);
    } catch (thrown) {
      throw failureOf(thrown);
    }
  }
}

function app(calls: Calls): acp.ClientApp {
  const { client } = acp.methods;
  return acp
    .client({ name: 'acp-server-vscode' })
    .onNotification(client.session.update, ({ params }) => calls.update(params.sessionId, params.update))
    .onRequest(client.session.requestPermission, async ({ params, signal }) => ({
      outcome: await calls.permission(params, signal),
    }))
    .onRequest(client.fs.readTextFile, async ({ params }) => ({
      content: await calls.readFile(params.path, params.line ?? undefined, params.limit ?? undefined),
    }))
    .onRequest(client.fs.writeTextFile, async ({ params }) => {
      await calls.writeFile(params.path, params.content);
      return {};
    });
}

function featuresOf(answer: acp.InitializeResponse): Features {
  const can = answer.agentCapabilities ?? {};
  const ours = (can._meta?.['acp_server'] ?? {}) as { methods?: unknown };
  const methods = new Set(Array.isArray(ours.methods) ? ours.methods : []);
  return {
    name: answer.agentInfo?.title ?? answer.agentInfo?.name ?? 'agent',
    load: can.loadSession === true,
    list: Boolean(can.sessionCapabilities?.list),
    remove: Boolean(can.sessionCapabilities?.delete),
    images: can.promptCapabilities?.image === true,
    steer: methods.has(STEER),
    rename: methods.has(RENAME),
    fork: methods.has(FORK),
    undo: methods.has(UNDO),
  };
}

function authMethod(method: acp.AuthMethod): AuthMethod {
  const terminal = (method as { type?: string }).type === 'terminal';
  return { id: method.id, name: method.name, description: method.description ?? '', terminal };
}

function opened(answer: { sessionId: string; configOptions?: ConfigOption[] | null; modes?: acp.SessionModeState | null }): Opened {
  return { sessionId: answer.sessionId, configOptions: answer.configOptions ?? [], modes: answer.modes ?? null };
}

const NOTHING: Features = {
  name: 'agent',
  load: false,
  list: false,
  remove: false,
  images: false,
  steer: false,
  rename: false,
  fork: false,
  undo: false,
};
