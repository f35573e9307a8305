// What is clicked in the page, carried out.
import { resolve } from 'node:path';
import * as vscode from 'vscode';
import type { ToolItem } from '../../session/items.ts';
import type { Thread } from '../../session/thread.ts';
import type { Action, FromPage, StoredSession } from '../shared/messages.ts';
import type { App } from './app.ts';
import type { Diffs } from './diffs.ts';
import { install, login } from './install.ts';
import { suggest } from './mentions.ts';
import { askUndo } from './undo.ts';

export class Actions {
  private readonly app: App;
  private readonly diffs: Diffs;

  constructor(app: App, diffs: Diffs) {
    this.app = app;
    this.diffs = diffs;
  }

  async perform(message: FromPage): Promise<void> {
    const { threads, view } = this.app;
    const thread = threads.active;
    switch (message.type) {
      case 'ready':
        return this.app.showState();
      case 'new':
        view.post({ type: 'page', page: 'chat' });
        return threads.create();
      case 'show':
      case 'close':
        return this.tab(message.type, message.key);
      case 'list':
        return this.list();
      case 'open':
        await threads.load(message.session.id, message.session.cwd, message.session.title);
        return view.post({ type: 'page', page: 'chat' });
      case 'rename':
      case 'fork':
      case 'delete':
        return this.stored(message.type, message.session);
      case 'suggest':
        return view.post({ type: 'suggestions', asked: message.asked, rows: await suggest(message.query) });
      case 'act':
        return this.act(message.action);
      case 'authenticate':
        return this.authenticate(message.method);
      case 'place':
      case 'uri':
      case 'copy':
      case 'insert':
        return this.editor(message);
      default:
        if (thread) await this.inThread(thread, message);
    }
  }

  private async inThread(thread: Thread, message: FromPage): Promise<void> {
    switch (message.type) {
      case 'send':
        return thread.send(message.draft);
      case 'stop':
        return thread.stop();
      case 'unqueue': {
        const draft = thread.unqueue(message.id);
        return draft && this.app.view.post({ type: 'draft', draft });
      }
      case 'sendQueued':
        return thread.sendQueued(message.id);
      case 'answer':
        return thread.answer(message.ask, message.option);
      case 'choose':
        return thread.choose(message.picker, message.value);
      case 'undo':
        return askUndo(this.app, thread, message.item);
      case 'diff': {
        const item = thread.transcript.items.find((one): one is ToolItem => one.id === message.item && one.kind === 'tool');
        const diff = item?.diffs[message.index];
        return diff && this.diffs.open(diff, item.status === 'completed');
      }
      default:
        return undefined;
    }
  }

  private async tab(what: 'show' | 'close', key: string): Promise<void> {
    const thread = this.app.threads.open.find((one) => one.key === key);
    if (thread) await (what === 'show' ? this.app.threads.show(thread) : this.app.threads.close(thread));
  }

  /** Sends the page the stored sessions of this folder. */
  async list(): Promise<void> {
    const { threads, view } = this.app;
    const found = await threads.stored().catch(() => []);
    const sessions = found.map((info): StoredSession => ({
      id: info.sessionId,
      cwd: info.cwd,
      title: info.title ?? 'Untitled',
      updated: info.updatedAt ? Date.parse(info.updatedAt) : 0,
      open: threads.find(info.sessionId) !== undefined,
    }));
    view.post({ type: 'sessions', sessions });
  }

  private async stored(what: 'rename' | 'fork' | 'delete', session: StoredSession): Promise<void> {
    const { threads, view } = this.app;
    if (what === 'rename') {
      const title = await vscode.window.showInputBox({ title: 'Rename the chat', value: session.title });
      if (!title?.trim()) return;
      await threads.rename(session.id, title.trim());
    } else if (what === 'fork') {
      await threads.fork(session.id, session.cwd, session.title);
      return view.post({ type: 'page', page: 'chat' });
    } else {
      const words = `Delete “${session.title}”?`;
      const detail = 'The server moves it to its trash folder.';
      if ((await vscode.window.showWarningMessage(words, { modal: true, detail }, 'Delete')) !== 'Delete') return;
      await threads.remove(session.id);
    }
    await this.list();
  }

  private async act(action: Action): Promise<void> {
    const { commands } = vscode;
    if (action === 'install') await install(this.app);
    if (action === 'settings') await commands.executeCommand('workbench.action.openSettings', '@ext:acp-server.acp-server');
    if (action === 'restart') await this.app.supervisor.restart();
    if (action === 'log') this.app.log.show(true);
    if (action === 'walkthrough') {
      await commands.executeCommand('workbench.action.openWalkthrough', 'acp-server.acp-server#acpServer.start', false);
    }
  }

  private async authenticate(id: string): Promise<void> {
    const methods = this.app.agent?.authMethods ?? [];
    const method = methods.find((one) => one.id === id);
    const plain = methods.find((one) => !one.terminal);
    if (method?.terminal) login(this.app, plain?.id ?? id);
    else await this.app.authenticate(id);
  }

  private async editor(message: Extract<FromPage, { type: 'place' | 'uri' | 'copy' | 'insert' }>): Promise<void> {
    if (message.type === 'copy') return vscode.env.clipboard.writeText(message.text);
    if (message.type === 'insert') {
      const editor = vscode.window.activeTextEditor;
      await editor?.edit((edit) => edit.replace(editor.selection, message.text));
      return;
    }
    if (message.type === 'place') return openAt(vscode.Uri.file(message.path), message.line);
    const place = placeOf(message.uri, this.app.threads.active?.cwd ?? '');
    if (place) return openAt(vscode.Uri.file(place.path), place.line);
    const uri = vscode.Uri.parse(message.uri);
    if (['http', 'https', 'mailto'].includes(uri.scheme)) await vscode.env.openExternal(uri);
  }
}

/** Returns the file and line that an address means, a path of the folder included, or null for another kind of address. */
function placeOf(address: string, cwd: string): { path: string; line: number | null } | null {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(address)?.[1];
  if (scheme && scheme.toLowerCase() !== 'file') return null;
  const [, rest = '', hash, colon] = /^(.*?)(?:#L(\d+).*|:(\d+)(?::\d+)?)?$/.exec(address) ?? [];
  const path = scheme ? vscode.Uri.parse(rest).fsPath : resolve(cwd, decodeURI(rest));
  const line = Number(hash ?? colon);
  return { path, line: Number.isNaN(line) ? null : line };
}

async function openAt(uri: vscode.Uri, line: number | null): Promise<void> {
  const at = line === null ? undefined : new vscode.Position(line - 1, 0);
  const options: vscode.TextDocumentShowOptions = at ? { selection: new vscode.Range(at, at) } : {};
  await vscode.commands.executeCommand('vscode.open', uri, options);
}
