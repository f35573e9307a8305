import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../src/rpc/agent.ts';
import { Transcript } from '../src/session/transcript.ts';
import { recorder, text } from './fakes.ts';

test('chunks of one message grow one item, another message begins another', () => {
  const { changes, told } = recorder();
  const transcript = new Transcript(told);
  transcript.apply({ sessionUpdate: 'agent_thought_chunk', content: text('Hm'), messageId: 'a' });
  transcript.apply({ sessionUpdate: 'agent_thought_chunk', content: text('.'), messageId: 'a' });
  transcript.apply({ sessionUpdate: 'agent_message_chunk', content: text('Yes'), messageId: 'b' });
  transcript.apply({ sessionUpdate: 'agent_message_chunk', content: text('!'), messageId: 'b' });
  transcript.apply({ sessionUpdate: 'agent_message_chunk', content: text('More'), messageId: 'c' });
  assert.deepEqual(changes, [
    { op: 'put', item: { kind: 'thought', id: 'i1', text: 'Hm', open: true } },
    { op: 'grow', id: 'i1', text: '.' },
    { op: 'put', item: { kind: 'thought', id: 'i1', text: 'Hm.', open: false } },
    { op: 'put', item: { kind: 'answer', id: 'i2', text: 'Yes', open: true } },
    { op: 'grow', id: 'i2', text: '!' },
    { op: 'put', item: { kind: 'answer', id: 'i2', text: 'Yes!', open: false } },
    { op: 'put', item: { kind: 'answer', id: 'i3', text: 'More', open: true } },
  ]);
});

test('a message of a replay joins its text, its picture and its files', () => {
  const transcript = new Transcript(() => undefined);
  const chunk = (content: Block) =>
    transcript.apply({ sessionUpdate: 'user_message_chunk', content, messageId: 'u' });
  chunk(text('See '));
  chunk(text('this'));
  chunk({ type: 'image', mimeType: 'image/png', data: 'QUJD' });
  chunk({ type: 'resource_link', name: 'a.py', uri: 'file:///p/a.py' });
  chunk({ type: 'resource', resource: { uri: 'file:///p/b%20c.py#L3-L9', text: 'x' } });
  assert.deepEqual(transcript.items, [
    {
      kind: 'user',
      id: 'i1',
      text: 'See this',
      pictures: [{ mimeType: 'image/png', data: 'QUJD' }],
      attachments: [
        { label: 'a.py', uri: 'file:///p/a.py' },
        { label: 'b c.py:3-9', uri: 'file:///p/b%20c.py#L3-L9' },
      ],
    },
  ]);
});

test('a tool call is merged by its fields, and what a command prints is added', () => {
  const { changes, told } = recorder();
  const transcript = new Transcript(told);
  transcript.apply({
    sessionUpdate: 'tool_call',
    toolCallId: 'c',
    title: 'bash',
    kind: 'execute',
    status: 'pending',
    content: [{ type: 'terminal', terminalId: 'c' }],
    _meta: { terminal_info: { terminal_id: 'c' } },
  });
  transcript.apply({ sessionUpdate: 'tool_call_update', toolCallId: 'c', title: 'make', status: 'in_progress' });
  const said = (data: string) => ({ terminal_output: { terminal_id: 'c', data } });
  transcript.apply({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'in_progress', _meta: said('one\n') });
  transcript.apply({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c',
    status: 'completed',
    _meta: { ...said('two\n'), terminal_exit: { exit_code: 0, signal: null } },
  });
  assert.deepEqual(changes.map((change) => change.op), ['put', 'put', 'output', 'put']);
  assert.deepEqual(transcript.items, [
    {
      kind: 'tool',
      id: 'i1',
      callId: 'c',
      title: 'make',
      name: '',
      does: 'execute',
      status: 'completed',
      places: [],
      diffs: [],
      texts: [],
      pictures: [],
      terminal: { output: 'one\ntwo\n', exit: { code: 0, signal: null } },
      ask: null,
    },
  ]);
});

test('the end of a turn closes what is open', () => {
  const transcript = new Transcript(() => undefined);
  transcript.apply({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'read', status: 'in_progress' });
  transcript.apply({ sessionUpdate: 'agent_message_chunk', content: text('x') });
  transcript.endTurn();
  assert.deepEqual(
    transcript.items.map((item) => (item.kind === 'tool' ? item.status : 'open' in item && item.open)),
    ['failed', false],
  );
});

test('plan, commands, usage and title hold for the whole conversation', () => {
  const transcript = new Transcript(() => undefined);
  transcript.apply({ sessionUpdate: 'plan', entries: [{ content: 'One', priority: 'medium', status: 'completed' }] });
  transcript.apply({
    sessionUpdate: 'available_commands_update',
    availableCommands: [{ name: 'undo', description: 'Goes back.', input: { hint: 'N' } }, { name: 'help', description: 'Helps.' }],
  });
  transcript.apply({ sessionUpdate: 'usage_update', used: 10, size: 100, cost: { amount: 0.5, currency: 'USD' } });
  transcript.apply({ sessionUpdate: 'session_info_update', title: 'A title' });
  const { plan, commands, usage, title } = transcript.meta;
  assert.deepEqual(
    { plan, commands, usage, title },
    {
      plan: [{ content: 'One', status: 'completed' }],
      commands: [
        { name: 'undo', description: 'Goes back.', hint: 'N' },
        { name: 'help', description: 'Helps.', hint: '' },
      ],
      usage: { used: 10, size: 100, cost: '0.50 USD' },
      title: 'A title',
    },
  );
});

test('messages of the person are counted from one on, which is how far an undo goes back', () => {
  const transcript = new Transcript(() => undefined);
  for (const words of ['a', 'b', 'c']) transcript.addUser({ text: words, pictures: [], attachments: [] });
  assert.deepEqual(['i1', 'i2', 'i3', 'no'].map((id) => transcript.messagesFrom(id)), [3, 2, 1, 0]);
});
