// Changes in the editor's own diff view: both sides are texts that this file provides.
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Diff } from '../../session/items.ts';
import { readFile } from './buffers.ts';

const SCHEME = 'acp-server-diff';
const MOST = 60;

export class Diffs implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private count = 0;

  register(): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? '';
  }

  /** Opens the change. Where the file is known, both sides are the whole file; else they are what the agent told. */
  async open(diff: Diff, done: boolean): Promise<void> {
    const [before, after] = await sides(diff, done);
    const left = this.keep(diff.path, before);
    const right = this.keep(diff.path, after);
    const name = basename(diff.path);
    const title = diff.oldText === null ? `${name} (new file)` : `${name} (${done ? 'changed' : 'proposed'} by the agent)`;
    await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true });
  }

  private keep(path: string, text: string): vscode.Uri {
    this.count += 1;
    const query = String(this.count);
    this.texts.set(query, text);
    for (const key of this.texts.keys()) if (this.texts.size > MOST) this.texts.delete(key);
    return vscode.Uri.from({ scheme: SCHEME, path: vscode.Uri.file(path).path, query });
  }
}

async function sides(diff: Diff, done: boolean): Promise<[string, string]> {
  const { oldText, newText } = diff;
  if (oldText === null) return ['', newText];
  const current = await readFile(diff.path).catch(() => null);
  if (current === null) return [oldText, newText];
  if (done) return once(current, newText) ? [current.replace(newText, () => oldText), current] : [oldText, newText];
  return once(current, oldText) ? [current, current.replace(oldText, () => newText)] : [oldText, newText];
}

function once(text: string, piece: string): boolean {
  const place = text.indexOf(piece);
  return piece !== '' && place >= 0 && !text.includes(piece, place + 1);
}
