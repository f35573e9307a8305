// Files as the editor has them: what is unsaved counts, and a buffer that is unsaved stays so when it is changed.
import * as vscode from 'vscode';

function documentOf(path: string): vscode.TextDocument | undefined {
  const uri = vscode.Uri.file(path).toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri && !document.isClosed);
}

/** Returns the text, or `limit` lines of it from `line` on (from 1). Throws where there is no such file. */
export async function readFile(path: string, line?: number, limit?: number): Promise<string> {
  const text = documentOf(path)?.getText() ?? (await readDisk(path));
  if (line === undefined && limit === undefined) return text;
  const from = Math.max(0, (line ?? 1) - 1);
  return text.split('\n').slice(from, limit === undefined ? undefined : from + limit).join('\n');
}

async function readDisk(path: string): Promise<string> {
  return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.file(path)));
}

export async function writeFile(path: string, content: string): Promise<void> {
  const document = documentOf(path);
  if (!document) {
    await vscode.workspace.fs.writeFile(vscode.Uri.file(path), new TextEncoder().encode(content));
    return;
  }
  const unsaved = document.isDirty;
  const edit = new vscode.WorkspaceEdit();
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  edit.replace(document.uri, document.validateRange(whole), content);
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`The editor did not take the change of ${path}.`);
  if (!unsaved) await document.save();
}
