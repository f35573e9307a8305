import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { find, loginCommand, type Machine, type Wishes } from '../src/process/find.ts';
import { inWords, Server } from '../src/process/server.ts';
import { delayAfter, Supervisor, type Status } from '../src/process/supervisor.ts';

const wishes: Wishes = { command: '', args: [], pythons: ['python3'], path: ['/a', '/b'].join(delimiter), home: '/home/me' };
const machine = (files: string[], pythons: string[] = []): Machine => ({
  executable: (file) => Promise.resolve(files.includes(file)),
  hasPackage: (python) => Promise.resolve(pythons.includes(python)),
});

test('the setting comes first, then PATH, the own folder, and Python', async () => {
  const everywhere = machine(['/x/mine', '/b/acp-server', '/home/me/.local/bin/acp-server'], ['python3']);
  assert.deepEqual(await find({ ...wishes, command: '/x/mine', args: ['--log', 'f'] }, everywhere), {
    program: '/x/mine',
    args: ['acp', '--log', 'f'],
    origin: 'setting',
  });
  assert.deepEqual(await find(wishes, everywhere), { program: '/b/acp-server', args: ['acp'], origin: 'path' });
  const own = machine([join('/home/me', '.local', 'bin', 'acp-server')]);
  assert.equal((await find(wishes, own) as { program: string }).program, '/home/me/.local/bin/acp-server');
  const module = await find(wishes, machine([], ['python3']));
  assert.deepEqual(module, { program: 'python3', args: ['-m', 'acp_server', 'acp'], origin: 'python' });
});

test('what is missing says where it was looked for', async () => {
  assert.deepEqual(await find({ ...wishes, command: 'gone' }, machine(['/b/acp-server'])), {
    missing: true,
    looked: ['the setting acpServer.command: gone'],
  });
  assert.deepEqual(await find(wishes, machine([])), {
    missing: true,
    looked: ['/a', '/b', '/home/me/.local/bin', 'python3 -m acp_server'],
  });
});

test('a login is the same command with a switch behind it', () => {
  assert.deepEqual(loginCommand({ program: 'p', args: ['acp'], origin: 'path' }), ['p', 'acp', '--login']);
});

test('crashes are answered by longer and longer waits, then not at all', () => {
  const now = 1_000_000;
  assert.deepEqual([1, 2, 4, 5].map((count) => delayAfter(Array<number>(count).fill(now), now)), [200, 1_000, 8_000, null]);
  assert.equal(delayAfter([0, 0, 0, 0, now], now), 200);
});

test('the end of a process is told in words', async () => {
  const command = { program: process.execPath, args: ['-e', 'console.error("no key"); process.exit(3)'], origin: 'path' } as const;
  const exit = await new Server(command, '.', process.env, () => undefined).exited;
  assert.equal(inWords(exit), 'The server ended with status 3: no key.');
  const none = await new Server({ ...command, program: '/no/such/program' }, '.', process.env, () => undefined).exited;
  assert.match(inWords(none), /^The server could not be started: /);
});

test('a server that is killed is started again', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'server-'));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'acp'), 'process.stdin.resume().on("end", () => process.exit(0));');
  const statuses: string[] = [];
  const servers: Server[] = [];
  let second: () => void;
  const twice = new Promise<void>((resolve) => (second = resolve));
  const supervisor = new Supervisor({
    wishes: () => Promise.resolve({ ...wishes, command: process.execPath, args: [] }),
    cwd: () => folder,
    env: () => process.env,
    log: () => undefined,
    onServer: (server) => {
      servers.push(server);
      if (servers.length === 1) process.kill(server.pid!, 'SIGKILL');
      else second();
    },
    onStatus: (status: Status) => statuses.push(status.is),
  });
  await supervisor.start();
  await twice;
  await supervisor.stop();
  assert.deepEqual(statuses, ['starting', 'running', 'waiting', 'starting', 'running', 'stopped']);
});
