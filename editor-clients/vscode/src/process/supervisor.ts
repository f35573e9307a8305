// Keeps one server running: starts it when it is first needed, again after a crash, and gives up when it keeps crashing.
import { find, type Command, type Missing, type Wishes } from './find.ts';
import { inWords, Server, type Exit } from './server.ts';

export type Status =
  | { readonly is: 'stopped' }
  | { readonly is: 'starting' }
  | { readonly is: 'running'; readonly command: Command }
  | { readonly is: 'waiting'; readonly why: string; readonly ms: number }
  | { readonly is: 'missing'; readonly looked: readonly string[] }
  | { readonly is: 'failed'; readonly why: string };

export interface Ports {
  wishes(): Promise<Wishes>;
  cwd(): string;
  env(): NodeJS.ProcessEnv;
  log(text: string): void;
  /** Called with each process that started. */
  onServer(server: Server): void;
  onStatus(status: Status): void;
}

const DELAYS_MS = [200, 1_000, 3_000, 8_000];
const WINDOW_MS = 120_000;

/** Returns how long to wait before the next start, or null to give up: so many crashes in two minutes are enough. */
export function delayAfter(crashes: readonly number[], now: number): number | null {
  const recent = crashes.filter((at) => now - at < WINDOW_MS).length;
  return DELAYS_MS[recent - 1] ?? null;
}

export class Supervisor {
  status: Status = { is: 'stopped' };
  private server: Server | null = null;
  private crashes: number[] = [];
  private timer: NodeJS.Timeout | null = null;
  private readonly ports: Ports;

  constructor(ports: Ports) {
    this.ports = ports;
  }

  /** Starts the server unless one runs or starts already. What comes of it is told by the ports. */
  async start(): Promise<void> {
    if (this.status.is === 'running' || this.status.is === 'starting') return;
    this.clear();
    this.become({ is: 'starting' });
    const found: Command | Missing = await find(await this.ports.wishes());
    if ('missing' in found) {
      this.become({ is: 'missing', looked: found.looked });
      return;
    }
    this.ports.log(`$ ${[found.program, ...found.args].join(' ')}\n`);
    const server = new Server(found, this.ports.cwd(), this.ports.env(), (text) => this.ports.log(text));
    this.server = server;
    this.become({ is: 'running', command: found });
    void server.exited.then((exit) => this.ended(server, exit));
    this.ports.onServer(server);
  }

  /** Forgets earlier crashes and starts anew. */
  async restart(): Promise<void> {
    await this.stop();
    this.crashes = [];
    await this.start();
  }

  async stop(): Promise<void> {
    this.clear();
    const server = this.server;
    this.server = null;
    this.become({ is: 'stopped' });
    await server?.stop();
  }

  private ended(server: Server, exit: Exit): void {
    this.ports.log(`${inWords(exit)}\n`);
    if (exit.asked || server !== this.server) return;
    this.server = null;
    const now = Date.now();
    this.crashes.push(now);
    const ms = delayAfter(this.crashes, now);
    const why = inWords(exit);
    if (ms === null) {
      this.become({ is: 'failed', why });
      return;
    }
    this.become({ is: 'waiting', why, ms });
    this.timer = setTimeout(() => void this.start(), ms);
  }

  private clear(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private become(status: Status): void {
    this.status = status;
    this.ports.onStatus(status);
  }
}
