// Finding the server's command: what the person set, then PATH and the usual folders, then Python's own installations.
// Nothing here starts the server; a Python is only asked whether it has the package.
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { delimiter, isAbsolute, join } from 'node:path';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly origin: 'setting' | 'path' | 'python';
}

export interface Wishes {
  /** The setting `acpServer.command`: a path or a name; empty when not set. */
  readonly command: string;
  /** The setting `acpServer.args`, added after the command's own. */
  readonly args: readonly string[];
  /** Interpreters to ask, the likeliest first. */
  readonly pythons: readonly string[];
  readonly path: string;
  readonly home: string;
}

export interface Machine {
  /** Whether the file is there and may be run. */
  executable(file: string): Promise<boolean>;
  /** Whether this Python has the package `acp_server`. */
  hasPackage(python: string): Promise<boolean>;
}

export interface Missing {
  readonly missing: true;
  /** Where it was looked for, one place a line. */
  readonly looked: readonly string[];
}

const NAME = process.platform === 'win32' ? 'acp-server.exe' : 'acp-server';
const SERVE = ['acp'];

/** Returns the first command that is there, or where it was looked for. A setting that leads nowhere is not passed over. */
export async function find(wishes: Wishes, machine: Machine = here): Promise<Command | Missing> {
  if (wishes.command) return set(wishes, machine);
  const folders = foldersOf(wishes);
  for (const folder of folders) {
    const program = join(folder, NAME);
    if (await machine.executable(program)) return { program, args: [...SERVE, ...wishes.args], origin: 'path' };
  }
  for (const python of wishes.pythons) {
    if (await machine.hasPackage(python)) {
      return { program: python, args: ['-m', 'acp_server', ...SERVE, ...wishes.args], origin: 'python' };
    }
  }
  return { missing: true, looked: [...new Set(folders), ...wishes.pythons.map((python) => `${python} -m acp_server`)] };
}

async function set(wishes: Wishes, machine: Machine): Promise<Command | Missing> {
  const places = isAbsolute(wishes.command)
    ? [wishes.command]
    : foldersOf(wishes).map((folder) => join(folder, wishes.command));
  for (const program of places) {
    if (await machine.executable(program)) return { program, args: [...SERVE, ...wishes.args], origin: 'setting' };
  }
  return { missing: true, looked: [`the setting acpServer.command: ${wishes.command}`] };
}

function foldersOf(wishes: Wishes): string[] {
  return [...wishes.path.split(delimiter).filter(Boolean), join(wishes.home, '.local', 'bin')];
}

/** The machine that this runs on. */
export const here: Machine = {
  executable: (file) => access(file, constants.X_OK).then(() => true, () => false),
  hasPackage: (python) =>
    new Promise((resolve) => {
      const code = 'import importlib.util,sys; sys.exit(importlib.util.find_spec("acp_server") is None)';
      execFile(python, ['-c', code], { timeout: 10_000 }, (error) => resolve(error === null));
    }),
};

/** Returns the command that signs the person in: the server's own with `--login` behind it. */
export function loginCommand(command: Command): string[] {
  return [command.program, ...command.args, '--login'];
}
