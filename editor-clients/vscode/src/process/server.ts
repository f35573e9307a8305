// One process of the server: its pipes as web streams, the end of what it said on standard error, how it ended.
import { spawn, type ChildProcess } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import type { Command } from './find.ts';

const STDERR_KEPT = 8_000;
const PATIENCE_MS = 2_000;
const LAST_WORDS_MS = 1_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last characters of standard error. */
  readonly stderr: string;
  /** Whether we ended it. */
  readonly asked: boolean;
}

export interface Pipes {
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
}

export class Server {
  readonly pipes: Pipes;
  /** Resolves once, when the process is gone or could not be started. */
  readonly exited: Promise<Exit>;
  private readonly child: ChildProcess;
  private stderr = '';
  private asked = false;

  constructor(command: Command, cwd: string, env: NodeJS.ProcessEnv, onStderr: (text: string) => void) {
    const child = spawn(command.program, command.args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
    this.child = child;
    // A pipe that breaks is told by the exit; without a listener Node would end the whole extension host.
    for (const pipe of child.stdio) pipe?.on('error', () => undefined);
    child.stderr.on('data', (data: Buffer) => {
      this.stderr = (this.stderr + data.toString('utf8')).slice(-STDERR_KEPT);
      onStderr(data.toString('utf8'));
    });
    this.pipes = {
      input: Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      output: Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    };
    this.exited = new Promise((resolve) => {
      const ended = (code: number | null, signal: string | null, why = '') =>
        resolve({ code, signal, stderr: (this.stderr + why).trim(), asked: this.asked });
      // The pipes close when their last words are read; something that inherited them may hold them open for ever.
      child.once('close', (code, signal) => ended(code, signal));
      child.once('exit', (code, signal) => void setTimeout(() => ended(code, signal), LAST_WORDS_MS));
      child.once('error', (error) => ended(null, null, error.message));
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Ends the process: its input is closed, and one that stays is killed. */
  async stop(): Promise<void> {
    this.asked = true;
    this.child.stdin?.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS);
    await this.exited;
    clearTimeout(timer);
  }
}

/** Returns how a process ended, as a person would say it. */
export function inWords(exit: Exit): string {
  const how =
    exit.signal !== null
      ? `was ended by ${exit.signal}`
      : exit.code === null
        ? 'could not be started'
        : `ended with status ${exit.code}`;
  const last = exit.stderr.split('\n').filter(Boolean).at(-1);
  return `The server ${how}${last ? `: ${last}` : ''}.`;
}
