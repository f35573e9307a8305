// Tells a person who looks elsewhere that the agent asks, or is done.
import * as vscode from 'vscode';
import type { Change } from '../../session/items.ts';
import type { Thread } from '../../session/thread.ts';
import type { App } from './app.ts';
import { notifies } from './settings.ts';

const told = new WeakMap<Thread, string>();

export function notifyOfChange(app: App, thread: Thread, change: Change): void {
  if (change.op === 'meta' && change.meta.running !== undefined) {
    void vscode.commands.executeCommand('setContext', 'acpServer.running', app.threads.active?.meta.running === true);
  }
  const shown = app.view.visible && app.threads.active === thread;
  if (shown || !notifies()) return;
  if (change.op === 'put' && change.item.kind === 'tool' && change.item.ask && told.get(thread) !== change.item.ask.id) {
    told.set(thread, change.item.ask.id);
    void tell(app, thread, `The agent asks: ${change.item.title}`);
  } else if (change.op === 'meta' && change.meta.running === false) {
    void tell(app, thread, `The agent is done: ${thread.meta.title || 'your chat'}`);
  }
}

async function tell(app: App, thread: Thread, words: string): Promise<void> {
  if ((await vscode.window.showInformationMessage(words, 'Show')) !== 'Show') return;
  await app.threads.show(thread);
  await app.view.reveal();
}
