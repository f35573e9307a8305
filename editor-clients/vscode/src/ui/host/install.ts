// What a person does once: installing the server, signing in. Both happen in a terminal, in sight.
import * as vscode from 'vscode';
import { loginCommand } from '../../process/find.ts';
import type { App } from './app.ts';
import { environment, folder } from './settings.ts';

const WAYS = [
  { label: 'uv', description: 'uv tool install acp-server', detail: 'A tool of its own, in an environment of its own.' },
  { label: 'pipx', description: 'pipx install acp-server', detail: 'The same with pipx.' },
  { label: 'pip', description: 'python3 -m pip install --user acp-server', detail: 'Into your Python.' },
];

export async function install(app: App): Promise<void> {
  const way = await vscode.window.showQuickPick(WAYS, { title: 'Install acp-server', placeHolder: 'Runs in a terminal' });
  if (!way) return;
  const terminal = vscode.window.createTerminal({ name: 'Install acp-server' });
  terminal.show();
  terminal.sendText(way.description);
  const again = await vscode.window.showInformationMessage('When the terminal is done, look for the server again.', 'Look again');
  if (again) await app.supervisor.restart();
}

/** Opens the server's login in a terminal; when it ends well, the person is signed in. */
export function login(app: App, then: string): void {
  const { status } = app.supervisor;
  if (status.is !== 'running') return;
  const [shellPath, ...shellArgs] = loginCommand(status.command);
  const terminal = vscode.window.createTerminal({
    name: 'acp-server login',
    cwd: folder(),
    env: environment() as Record<string, string>,
    ...(shellPath ? { shellPath } : {}),
    shellArgs,
  });
  terminal.show();
  const closed = vscode.window.onDidCloseTerminal((one) => {
    if (one !== terminal) return;
    closed.dispose();
    if (one.exitStatus?.code === 0) void app.authenticate(then);
  });
}
