import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PermissionRequest } from '../src/rpc/agent.ts';
import { Failure } from '../src/rpc/failure.ts';
import type { Draft } from '../src/session/items.ts';
import { Thread } from '../src/session/thread.ts';
import { Threads, type Saved } from '../src/session/threads.ts';
import { FakeAgent, settled, text } from './fakes.ts';

const draft = (id: string): Draft => ({ id, text: id, pictures: [], mentions: [] });
const quiet = { changed: () => undefined, opened: () => undefined, needsAuth: () => undefined };
const said = (thread: Thread): string[] =>
  thread.transcript.items.map((item) => (item.kind === 'notice' ? `! ${item.title}` : 'text' in item ? item.text : item.title));

async function begun(): Promise<{ agent: FakeAgent; thread: Thread }> {
  const agent = new FakeAgent();
  const thread = new Thread(null, '', '/p', quiet);
  await thread.start(agent.agent);
  return { agent, thread };
}

test('what is written while a turn runs waits, and is sent when it ends', async () => {
  const { agent, thread } = await begun();
  thread.send(draft('one'));
  thread.send(draft('two'));
  assert.deepEqual([said(thread), thread.meta.running, thread.meta.queue.map((one) => one.text)], [['one'], true, ['two']]);
  agent.turns[0]!.end('end_turn');
  await settled();
  assert.deepEqual([said(thread), thread.meta.running, thread.meta.queue], [['one', 'two'], true, []]);
  agent.turns[1]!.end('end_turn');
  await settled();
  assert.equal(thread.meta.running, false);
});

test('stop cancels the turn and answers open questions; what waits stays', async () => {
  const { agent, thread } = await begun();
  thread.send(draft('one'));
  thread.send(draft('two'));
  const request: PermissionRequest = {
    sessionId: 's1',
    toolCall: { toolCallId: 'c', title: 'Write a.py', content: [{ type: 'content', content: text('Why?') }] },
    options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
  };
  const outcome = thread.permission(request, new AbortController().signal);
  await thread.stop();
  assert.deepEqual(await outcome, { outcome: 'cancelled' });
  agent.turns[0]!.end('cancelled');
  await settled();
  assert.deepEqual(agent.calls, ['new s1', 'prompt s1', 'cancel s1']);
  assert.deepEqual(said(thread), ['one', 'Write a.py', '! Stopped.']);
  assert.deepEqual([thread.meta.running, thread.meta.queue.length], [false, 1]);
});

test('a question is shown at its call until it is answered', async () => {
  const { thread } = await begun();
  const request: PermissionRequest = {
    sessionId: 's1',
    toolCall: { toolCallId: 'c', title: 'Write a.py', content: [{ type: 'diff', path: '/p/a.py', newText: 'x' }] },
    options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
  };
  const outcome = thread.permission(request, new AbortController().signal);
  const [item] = thread.transcript.items;
  assert.ok(item?.kind === 'tool' && item.ask);
  assert.deepEqual(item.ask.options, [{ id: 'yes', name: 'Allow', kind: 'allow_once' }]);
  assert.deepEqual(item.diffs, [{ path: '/p/a.py', oldText: null, newText: 'x' }]);
  thread.answer(item.ask.id, 'yes');
  assert.deepEqual(await outcome, { outcome: 'selected', optionId: 'yes' });
  assert.equal(item.ask, null);
});

test('a failed turn says why and leaves what waits', async () => {
  const { agent, thread } = await begun();
  thread.send(draft('one'));
  thread.send(draft('two'));
  agent.turns[0]!.fail(new Failure(-32603, 'The provider is busy.'));
  await settled();
  assert.deepEqual(said(thread), ['one', '! The turn failed.']);
  assert.equal(thread.meta.queue.length, 1);
});

test('a message that needs a key first waits for it', async () => {
  const { agent, thread } = await begun();
  thread.send(draft('one'));
  agent.turns[0]!.fail(new Failure(-32000, 'Set a key.'));
  await settled();
  assert.deepEqual(thread.meta.queue.map((one) => one.text), ['one']);
  await thread.attach(agent.agent);
  assert.deepEqual([agent.calls, thread.meta.queue], [['new s1', 'prompt s1', 'prompt s1'], []]);
});

test('a waiting message can be taken back, or sent into the running turn', async () => {
  const { agent, thread } = await begun();
  for (const words of ['one', 'two', 'three']) thread.send(draft(words));
  assert.equal(thread.unqueue('two')?.text, 'two');
  await thread.sendQueued('three');
  assert.deepEqual(agent.calls, ['new s1', 'prompt s1', 'steer s1']);
  assert.deepEqual([said(thread), thread.meta.queue], [['one', 'three'], []]);
});

test('an undo goes back so many messages and shows what is left', async () => {
  const { agent, thread } = await begun();
  for (const words of ['one', 'two']) {
    thread.send(draft(words));
    agent.turns.at(-1)!.end('end_turn');
    await settled();
  }
  const first = thread.transcript.items.find((item) => item.kind === 'user')!;
  await thread.undoPreview(first.id);
  await thread.undo(first.id);
  assert.deepEqual(agent.calls.slice(3), ['undo s1 2 false', 'undo s1 2 true', 'load s1']);
  assert.deepEqual(said(thread), []);
});

test('the command that goes back is followed by showing what is left', async () => {
  const { agent, thread } = await begun();
  thread.send(draft('/undo 2 go'));
  agent.turns[0]!.end('end_turn');
  await settled();
  assert.deepEqual(agent.calls, ['new s1', 'prompt s1', 'load s1']);
});

test('a choice is the agent`s answer', async () => {
  const { agent, thread } = await begun();
  await thread.choose('model', 'm2');
  assert.deepEqual(agent.calls, ['new s1', 'set s1 model m2']);
  assert.deepEqual(thread.meta.pickers.map((picker) => [picker.id, picker.current]), [['model', 'm2']]);
});

test('a session that another window still holds is tried again; another refusal is told', async () => {
  const { agent, thread } = await begun();
  thread.transcript.addUser({ text: 'one', pictures: [], attachments: [] });
  thread.detach('');
  agent.refusals = [new Failure(-32600, 'It is open elsewhere.')];
  await thread.attach(agent.agent);
  assert.deepEqual([agent.calls, thread.stale], [['new s1', 'load s1', 'load s1'], false]);
  thread.detach('');
  agent.refusals = [new Failure(-32603, 'The log cannot be read.')];
  await thread.attach(agent.agent);
  assert.deepEqual([said(thread), thread.stale], [['! This conversation cannot be shown.'], true]);
});

function many(saved?: Saved): { agent: FakeAgent; threads: Threads; kept: () => Saved | undefined } {
  const agent = new FakeAgent();
  let last: Saved | undefined;
  const threads = new Threads(
    {
      cwd: () => '/p',
      defaultMode: () => '',
      changed: () => undefined,
      switched: () => undefined,
      needsAuth: () => undefined,
      failed: (failure) => assert.fail(failure),
      save: (value) => (last = value),
    },
    saved,
  );
  agent.deliver = (sessionId, update) => threads.calls.update(sessionId, update);
  return { agent, threads, kept: () => last };
}

test('conversations run beside each other; updates go where they belong', async () => {
  const { agent, threads } = many();
  await threads.attach(agent.agent);
  const first = threads.active!;
  first.send(draft('one'));
  await threads.create();
  const second = threads.active!;
  second.send(draft('two'));
  threads.calls.update('s1', { sessionUpdate: 'agent_message_chunk', content: text('first') });
  threads.calls.update('s2', { sessionUpdate: 'agent_message_chunk', content: text('second') });
  threads.calls.update('nobody', { sessionUpdate: 'agent_message_chunk', content: text('x') });
  assert.deepEqual([said(first), said(second)], [['one', 'first'], ['two', 'second']]);
});

test('after the server came back the shown conversation is loaded again and what waits is sent', async () => {
  const { agent, threads } = many();
  await threads.attach(agent.agent);
  const thread = threads.active!;
  thread.send(draft('one'));
  agent.over = true;
  threads.detach('The server was ended by SIGKILL.');
  agent.turns[0]!.fail(new Error('closed'));
  await settled();
  assert.deepEqual(said(thread), ['one', '! The turn was interrupted.']);
  thread.send(draft('two'));
  assert.equal(thread.meta.queue.length, 1);
  const next = new FakeAgent();
  next.history = [{ sessionUpdate: 'user_message_chunk', content: text('one'), messageId: 'm' }];
  next.deliver = agent.deliver;
  await threads.attach(next.agent);
  assert.deepEqual(next.calls, ['load s1', 'prompt s1']);
  assert.deepEqual(said(thread), ['one', '! The turn was interrupted.', 'two']);
});

test('open conversations are kept and come back after a reload of the window', async () => {
  const before = many();
  await before.threads.attach(before.agent.agent);
  before.threads.active!.send(draft('one'));
  before.threads.active!.receive({ sessionUpdate: 'session_info_update', title: 'One' });
  assert.deepEqual(before.kept(), { open: [{ sessionId: 's1', cwd: '/p', title: 'One' }], active: 's1' });
  const after = many(before.kept());
  after.agent.history = [{ sessionUpdate: 'user_message_chunk', content: text('one') }];
  await after.threads.attach(after.agent.agent);
  assert.deepEqual([after.agent.calls, said(after.threads.active!)], [['load s1'], ['one']]);
});

test('delete, fork and close act on the agent and on what is open', async () => {
  const { agent, threads } = many();
  await threads.attach(agent.agent);
  threads.active!.send(draft('one'));
  await threads.fork('s1', '/p', 'Copy');
  assert.equal(threads.active!.sessionId, 'forked');
  await threads.close(threads.active!);
  await threads.remove('s1');
  assert.deepEqual(agent.calls, ['new s1', 'prompt s1', 'fork s1', 'load forked', 'close forked', 'delete s1', 'new s2']);
  assert.deepEqual(threads.open.map((thread) => thread.sessionId), ['s2']);
});
