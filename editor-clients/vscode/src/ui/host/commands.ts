// The commands of the palette, of the view's title and of the editor's menu.
import * as vscode from 'vscode';
import type { Actions } from './actions.ts';
import type { App } from './app.ts';
import { editSelection, explain, fix } from './code_actions.ts';
import { fileMention, selection } from './mentions.ts';

export function registerCommands(app: App, actions: Actions): vscode.Disposable[] {
  const commands: Record<string, (...args: never[]) => unknown> = {
    focus: () => app.view.reveal(),
    newChat: async () => {
      await app.view.reveal();
      await actions.perform({ type: 'new' });
    },
    sessions: async () => {
      await app.view.reveal();
      app.view.post({ type: 'page', page: 'sessions' });
    },
    stop: () => actions.perform({ type: 'stop' }),
    explain: () => explain(app),
    fix: (uri?: vscode.Uri, range?: vscode.Range, message?: string) => fix(app, uri, range, message),
    editSelection: () => editSelection(app),
    addContext: (uri?: vscode.Uri) => addContext(app, uri),
    restart: () => actions.perform({ type: 'act', action: 'restart' }),
    showLog: () => app.log.show(),
    install: () => actions.perform({ type: 'act', action: 'install' }),
    settings: () => actions.perform({ type: 'act', action: 'settings' }),
    walkthrough: () => actions.perform({ type: 'act', action: 'walkthrough' }),
  };
  return Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`acpServer.${name}`, run));
}

/** Puts the selection, or the file, into what the person is about to write. */
async function addContext(app: App, uri?: vscode.Uri): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const mention = uri && !(editor?.document.uri.toString() === uri.toString() && !editor.selection.isEmpty) ? fileMention(uri) : selection(editor);
  const chosen = mention ?? (editor && fileMention(editor.document.uri));
  await app.view.reveal();
  if (chosen) app.view.post({ type: 'mention', mention: chosen });
}
