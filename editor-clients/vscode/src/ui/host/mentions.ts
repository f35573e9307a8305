// What can go with a prompt: files by name, what is selected, what is open.
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Mention } from '../../session/items.ts';
import type { Suggestion } from '../shared/messages.ts';

const MOST_FILES = 20_000;
const ROWS = 12;
const FRESH_MS = 15_000;
let cache: { files: vscode.Uri[]; at: number } | null = null;

/** Returns the selection of the last editor as a mention, or null where nothing is selected. */
export function selection(editor = lastEditor()): Mention | null {
  if (!editor || editor.selection.isEmpty || editor.document.uri.scheme !== 'file') return null;
  return pieceOf(editor.document, editor.selection);
}

/** Returns lines of a document as a mention with their text. */
export function pieceOf(document: vscode.TextDocument, range: vscode.Range): Mention {
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
  const whole = new vscode.Range(range.start.line, 0, last, document.lineAt(last).text.length);
  const lines: [number, number] = [range.start.line + 1, last + 1];
  const name = basename(document.uri.fsPath);
  const label = lines[0] === lines[1] ? `${name}:${lines[0]}` : `${name}:${lines[0]}-${lines[1]}`;
  return { label, path: document.uri.fsPath, lines, text: document.getText(whole) };
}

export function fileMention(uri: vscode.Uri): Mention {
  return { label: basename(uri.fsPath), path: uri.fsPath, lines: null, text: null };
}

/** Returns the rows of the completion: the selection and open files first, then files whose path has the letters. */
export async function suggest(query: string): Promise<Suggestion[]> {
  const rows: Suggestion[] = [];
  const piece = selection();
  if (piece && 'selection'.startsWith(query.toLowerCase())) {
    rows.push({ label: 'selection', detail: piece.label, mention: piece });
  }
  const open = openFiles();
  const seen = new Set<string>();
  const ranked = [...open.map((uri) => ({ uri, bonus: 30 })), ...(await files()).map((uri) => ({ uri, bonus: 0 }))]
    .filter(({ uri }) => !seen.has(uri.fsPath) && seen.add(uri.fsPath))
    .map(({ uri, bonus }) => ({ uri, score: score(query, vscode.workspace.asRelativePath(uri)) + bonus }))
    .filter((one) => one.score >= 0)
    .sort((a, b) => b.score - a.score || a.uri.fsPath.length - b.uri.fsPath.length);
  for (const { uri } of ranked.slice(0, ROWS - rows.length)) {
    rows.push({ label: basename(uri.fsPath), detail: vscode.workspace.asRelativePath(uri), mention: fileMention(uri) });
  }
  return rows;
}

/** Returns how well a path fits, or a number far below zero: its name counts most, letters in their order least. */
function score(query: string, path: string): number {
  if (!query) return 0;
  const [wanted, whole] = [query.toLowerCase(), path.toLowerCase()];
  const name = whole.slice(whole.lastIndexOf('/') + 1);
  if (name.startsWith(wanted)) return 100;
  if (name.includes(wanted)) return 60;
  if (whole.includes(wanted)) return 40;
  let at = -1;
  for (const letter of wanted) {
    at = whole.indexOf(letter, at + 1);
    if (at < 0) return -1_000;
  }
  return 1;
}

function openFiles(): vscode.Uri[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .map((tab) => (tab.input instanceof vscode.TabInputText ? tab.input.uri : null))
    .filter((uri): uri is vscode.Uri => uri?.scheme === 'file');
}

async function files(): Promise<vscode.Uri[]> {
  if (cache && Date.now() - cache.at < FRESH_MS) return cache.files;
  const found = await vscode.workspace.findFiles('**/*', '**/{node_modules,.git,.venv,__pycache__}/**', MOST_FILES);
  cache = { files: found, at: Date.now() };
  return found;
}

function lastEditor(): vscode.TextEditor | undefined {
  return vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find((one) => one.document.uri.scheme === 'file');
}
