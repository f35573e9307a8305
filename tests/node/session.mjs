// One session through the client of the reference SDK, which checks every message against its own schema.
// usage: node session.mjs CWD COMMAND ARGS...
// Prints one JSON object: what each step gave, the updates of the turns, and those of the replay.

import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const [cwd, command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd });
const updates = [];
const live = [];
const replayed = [];
const seen = new Map();
const questions = [];

/** Resolves once an update of that kind has come since the last call. */
function nextUpdate(kind) {
  return new Promise((resolve) => seen.set(kind, resolve));
}

const app = acp
  .client({ name: 'session-test' })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    seen.get(params.update.sessionUpdate)?.();
    seen.delete(params.update.sessionUpdate);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    questions.push(params.toolCall);
    const kind = questions.length === 1 ? 'allow_once' : 'reject_once';
    return { outcome: { outcome: 'selected', optionId: params.options.find((one) => one.kind === kind).optionId } };
  });

const told = {};
const streams = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

await app.connectWith(streams, async (context) => {
  const methods = acp.methods.agent;
  told.initialized = await context.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: 'session-test', version: '1' },
  });
  const { sessionId } = await context.request(methods.session.new, { cwd, mcpServers: [] });
  const ask = (...lines) =>
    context.request(methods.session.prompt, {
      sessionId,
      prompt: [{ type: 'text', text: ['@script', ...lines].join('\n') }],
    });

  told.prompted = await ask('think Hm.', 'chunks 3', 'say Hello from the script.', 'usage 12 5');

  const edit = (from, to) => `call edit {"path": "notes.txt", "old_string": "${from}", "new_string": "${to}"}`;
  told.edited = await ask('call read {"path": "notes.txt"}', 'step', edit('old', 'new'), 'step', 'say Edited.');
  told.refusedEdit = await ask(edit('new', 'bad'), 'step', 'say Left.');
  told.questions = questions;

  const begun = nextUpdate('agent_message_chunk');
  const hanging = ask('say Begun.', 'hang');
  await begun;
  await context.notify(methods.session.cancel, { sessionId });
  told.cancelled = await hanging;

  told.again = await ask('say Again.');
  told.refused = await context
    .request(methods.session.prompt, { sessionId: 'nobody', prompt: [{ type: 'text', text: 'hi' }] })
    .then(
      () => null,
      (error) => ({ code: error.code, data: error.data }),
    );

  told.listed = (await context.request(methods.session.list, { cwd })).sessions.map((one) => one.sessionId === sessionId);
  told.closed = await context.request(methods.session.close, { sessionId });
  live.push(...updates.splice(0));
  told.loaded = await context.request(methods.session.load, { sessionId, cwd, mcpServers: [] });
  replayed.push(...updates.splice(0));
  told.deleted = await context.request(methods.session.delete, { sessionId });
  told.left = (await context.request(methods.session.list, { cwd })).sessions;
});

agent.stdin.end();
told.exitCode = await new Promise((resolve) => agent.on('exit', resolve));
told.live = live;
told.replayed = replayed;
console.log(JSON.stringify(told));
