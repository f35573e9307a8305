// The entry: makes the parts, registers what the editor shows, and starts the server when the view is first looked at.
import * as vscode from 'vscode';
import { Actions } from './ui/host/actions.ts';
import { App } from './ui/host/app.ts';
import { AgentActions } from './ui/host/code_actions.ts';
import { registerCommands } from './ui/host/commands.ts';
import { Diffs } from './ui/host/diffs.ts';
import { VIEW } from './ui/host/view.ts';

const WELCOMED = 'welcomed';
let app: App | null = null;

export function activate(context: vscode.ExtensionContext): void {
  const made = new App(context);
  const diffs = new Diffs();
  const actions = new Actions(made, diffs);
  app = made;
  made.view.onMessage = (message) => {
    if (message.type === 'ready') void made.supervisor.start();
    void actions.perform(message);
  };
  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider(VIEW, made.view, { webviewOptions: { retainContextWhenHidden: true } }),
    diffs.register(),
    AgentActions.register(),
    ...registerCommands(made, actions),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration('acpServer')) return;
      made.showState();
      const processes = ['command', 'args', 'env', 'python'].some((name) => event.affectsConfiguration(`acpServer.${name}`));
      if (processes && made.supervisor.status.is !== 'stopped') void made.supervisor.restart();
    }),
  );
  welcome(context);
}

/** Opens the walkthrough the first time that the extension runs. */
function welcome(context: vscode.ExtensionContext): void {
  if (context.globalState.get(WELCOMED)) return;
  void context.globalState.update(WELCOMED, true);
  void vscode.commands.executeCommand('workbench.action.openWalkthrough', 'acp-server.acp-server#acpServer.start', false);
}

export async function deactivate(): Promise<void> {
  await app?.stop();
}
