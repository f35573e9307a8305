// What the editor offers at a selection or a problem: explain, fix, edit.
import * as vscode from 'vscode';
import type { Draft, Mention } from '../../session/items.ts';
import type { App } from './app.ts';
import { fileMention, pieceOf, selection } from './mentions.ts';

const KINDS = [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.RefactorRewrite];

export class AgentActions implements vscode.CodeActionProvider {
  static register(): vscode.Disposable {
    const selector = { scheme: 'file' };
    return vscode.languages.registerCodeActionsProvider(selector, new AgentActions(), { providedCodeActionKinds: KINDS });
  }

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    const actions = context.diagnostics.map((diagnostic) => {
      const action = new vscode.CodeAction(`Fix with acp-server: ${short(diagnostic.message)}`, vscode.CodeActionKind.QuickFix);
      action.command = { command: 'acpServer.fix', title: 'Fix', arguments: [document.uri, diagnostic.range, diagnostic.message] };
      action.diagnostics = [diagnostic];
      return action;
    });
    if (range.isEmpty) return actions;
    const edit = new vscode.CodeAction('Edit selection with acp-server…', vscode.CodeActionKind.RefactorRewrite);
    edit.command = { command: 'acpServer.editSelection', title: 'Edit selection' };
    const explain = new vscode.CodeAction('Explain with acp-server', vscode.CodeActionKind.RefactorRewrite);
    explain.command = { command: 'acpServer.explain', title: 'Explain' };
    return [...actions, edit, explain];
  }
}

/** Sends words with a piece of a file to the conversation that is shown. */
async function send(app: App, text: string, mention: Mention): Promise<void> {
  await app.view.reveal();
  if (!app.threads.active) await app.threads.create();
  const draft: Draft = { id: `c${Date.now()}`, text, pictures: [], mentions: [mention] };
  app.threads.active?.send(draft);
}

export async function explain(app: App): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  const mention = selection(editor) ?? fileMention(editor.document.uri);
  await send(app, `Explain ${mention.label}: what it does, and what is not obvious about it.`, mention);
}

/** Asks for a fix of the problem that is named, else of the one at the cursor. */
export async function fix(app: App, uri?: vscode.Uri, range?: vscode.Range, message?: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const document = uri ? await vscode.workspace.openTextDocument(uri) : editor?.document;
  if (!document) return;
  const here = editor?.selection.active;
  const found = here && vscode.languages.getDiagnostics(document.uri).find((one) => one.range.contains(here));
  const [at, words] = [range ?? found?.range, message ?? found?.message];
  if (!at || !words) {
    await vscode.window.showInformationMessage('There is no problem at the cursor.');
    return;
  }
  const around = new vscode.Range(Math.max(0, at.start.line - 3), 0, Math.min(document.lineCount - 1, at.end.line + 3), 1);
  await send(app, `Fix this problem at line ${at.start.line + 1} of ${vscode.workspace.asRelativePath(document.uri)}:\n\n${words}`, pieceOf(document, around));
}

export async function editSelection(app: App): Promise<void> {
  const mention = selection(vscode.window.activeTextEditor);
  if (!mention) {
    await vscode.window.showInformationMessage('Select what should be edited first.');
    return;
  }
  const wish = await vscode.window.showInputBox({ title: `Edit ${mention.label}`, placeHolder: 'What should change?' });
  if (wish?.trim()) await send(app, `Edit ${mention.label}, and only that: ${wish.trim()}`, mention);
}

function short(message: string): string {
  const line = message.split('\n')[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
