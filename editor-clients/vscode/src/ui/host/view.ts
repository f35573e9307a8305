// The chat view in the side bar: shows one conversation, passes its changes on as they come, and takes what is clicked.
import * as vscode from 'vscode';
import type { Change } from '../../session/items.ts';
import type { Thread } from '../../session/thread.ts';
import type { Threads } from '../../session/threads.ts';
import type { FromPage, Tab, ToPage } from '../shared/messages.ts';
import { Batch } from './batch.ts';
import { page } from './page.ts';

export const VIEW = 'acpServer.chat';

export class ChatView implements vscode.WebviewViewProvider {
  /** Called with what the page says; `ready` comes each time it was built anew. */
  onMessage: (message: FromPage) => void = () => undefined;
  private view: vscode.WebviewView | null = null;
  private ready = false;
  private waiting: ToPage[] = [];
  private tabs = '';
  private readonly root: vscode.Uri;
  private readonly threads: () => Threads;
  private readonly batch = new Batch((changes) => this.postChanges(changes));

  constructor(root: vscode.Uri, threads: () => Threads) {
    this.root = root;
    this.threads = threads;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.root, 'dist')] };
    view.webview.onDidReceiveMessage((message: FromPage) => {
      if (message.type === 'ready') this.begin();
      this.onMessage(message);
    });
    view.onDidDispose(() => {
      this.view = null;
      this.ready = false;
    });
    view.webview.html = page(view.webview, this.root);
  }

  get visible(): boolean {
    return this.view?.visible === true;
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.post({ type: 'focus' });
  }

  /** Sends a message to the page; one that has to reach a page still being built waits for it. */
  post(message: ToPage, keep = true): void {
    if (this.ready) void this.view?.webview.postMessage(message);
    else if (keep) this.waiting.push(message);
  }

  changed(thread: Thread, change: Change): void {
    if (change.op === 'meta' && change.meta.loading !== undefined) this.showThread(thread);
    else if (thread === this.threads().active && !thread.meta.loading) this.batch.add(change);
    this.showTabs();
  }

  /** Shows the active conversation whole. */
  showThread(thread: Thread | null = this.threads().active): void {
    if (!thread || thread !== this.threads().active) return;
    this.batch.flush(true);
    this.post({ type: 'thread', key: thread.key, items: thread.transcript.items, meta: thread.meta }, false);
  }

  showTabs(): void {
    const tabs = this.threads().open.map((thread): Tab => {
      const { title, running } = thread.meta;
      return { key: thread.key, title: title || 'New chat', running, asking: thread.asking, active: thread === this.threads().active };
    });
    const told = JSON.stringify(tabs);
    if (told === this.tabs) return;
    this.tabs = told;
    this.post({ type: 'tabs', tabs }, false);
    const asking = tabs.filter((tab) => tab.asking).length;
    if (this.view) this.view.badge = asking ? { value: asking, tooltip: 'The agent waits for your answer' } : undefined;
  }

  private begin(): void {
    this.ready = true;
    this.tabs = '';
    this.showTabs();
    this.showThread();
    for (const message of this.waiting.splice(0)) this.post(message);
  }

  private postChanges(changes: Change[]): void {
    const thread = this.threads().active;
    if (thread) this.post({ type: 'changes', key: thread.key, changes }, false);
  }
}
