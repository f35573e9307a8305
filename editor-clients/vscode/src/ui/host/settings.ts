// The settings of the extension, read when they are needed.
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import type { Wishes } from '../../process/find.ts';
import type { Looks } from '../shared/messages.ts';

const SECTION = 'acpServer';

function get<Value>(name: string, otherwise: Value): Value {
  return vscode.workspace.getConfiguration(SECTION).get<Value>(name) ?? otherwise;
}

export async function wishes(): Promise<Wishes> {
  const named = get('python', '').trim();
  const chosen = await chosenPython();
  const pythons = named ? [named] : [...(chosen ? [chosen] : []), ...(process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'])];
  return {
    command: expand(get('command', '').trim()),
    args: get<string[]>('args', []),
    pythons: pythons.map(expand),
    path: environment()['PATH'] ?? '',
    home: homedir(),
  };
}

/** Returns the environment of the server: this one, and over it what the setting says. */
export function environment(): NodeJS.ProcessEnv {
  return { ...process.env, ...get<Record<string, string>>('env', {}) };
}

export function looks(): Looks {
  return { thoughts: get('thoughts', 'collapsed'), sendWith: get('sendWith', 'enter') };
}

export const defaultMode = (): string => get('defaultMode', '');
export const notifies = (): boolean => get('notify', true);
export const logsWire = (): boolean => get('logTraffic', false);

/** Returns the folder that conversations belong to: of the active file, else the first one, else the home folder. */
export function folder(): string {
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active ? vscode.workspace.getWorkspaceFolder(active) : undefined;
  return (own ?? vscode.workspace.workspaceFolders?.[0])?.uri.fsPath ?? homedir();
}

function expand(path: string): string {
  return path.replace(/^~(?=[/\\]|$)/, homedir()).replaceAll('${workspaceFolder}', folder());
}

/** Returns the interpreter that the Python extension has chosen for this folder, where that extension is there. */
async function chosenPython(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (!extension) return undefined;
  try {
    const api = extension.isActive ? extension.exports : await extension.activate();
    return api.environments?.getActiveEnvironmentPath?.()?.path;
  } catch {
    return undefined;
  }
}

interface PythonApi {
  readonly environments?: { getActiveEnvironmentPath?(): { path?: string } | undefined };
}
