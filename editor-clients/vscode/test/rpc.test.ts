import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as acp from '@agentclientprotocol/sdk';
import { Failure, failureOf } from '../src/rpc/failure.ts';
import { pair, text } from './fakes.ts';

const M = acp.methods.agent;

function app(): acp.AgentApp {
  return acp.agent({ name: 'there' }).onRequest(M.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentInfo: { name: 'there', version: '1' },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true },
      sessionCapabilities: { list: {}, delete: {} },
      _meta: { acp_server: { methods: ['_acp_server/session/fork'] } },
    },
    authMethods: [{ id: 'key', name: 'Key' }, { type: 'terminal', id: 'login', name: 'Login', args: ['--login'] }],
  }));
}

test('initialize tells what the agent can do', async () => {
  const agent = pair(app());
  await agent.initialize('1.0.0');
  assert.deepEqual(agent.features, {
    name: 'there',
    load: true,
    list: true,
    remove: true,
    images: true,
    steer: false,
    rename: false,
    fork: true,
    undo: false,
  });
  assert.deepEqual(agent.authMethods, [
    { id: 'key', name: 'Key', description: '', terminal: false },
    { id: 'login', name: 'Login', description: '', terminal: true },
  ]);
});

test('a turn: updates, a question, files of the editor, the reason of its end', async () => {
  const heard: string[] = [];
  const agent = pair(
    app().onRequest(M.session.prompt, async ({ params, client }) => {
      const { sessionId } = params;
      await client.notify(acp.methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: text('Hi') },
      });
      const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: 'c' },
        options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
      });
      const read = await client.request(acp.methods.client.fs.readTextFile, { sessionId, path: '/p/a', line: 2, limit: 3 });
      await client.request(acp.methods.client.fs.writeTextFile, { sessionId, path: '/p/a', content: `${read.content}!` });
      heard.push(JSON.stringify(outcome));
      return { stopReason: 'end_turn' as const };
    }),
    {
      update: (sessionId, update) => heard.push(`${sessionId} ${update.sessionUpdate}`),
      permission: () => Promise.resolve({ outcome: 'selected', optionId: 'yes' }),
      readFile: (path, line, limit) => Promise.resolve(`${path} ${line} ${limit}`),
      writeFile: (path, content) => {
        heard.push(`${path} <- ${content}`);
        return Promise.resolve();
      },
    },
  );
  await agent.initialize('1.0.0');
  assert.equal(await agent.prompt('s', [text('hello')]), 'end_turn');
  assert.deepEqual(heard, ['s agent_message_chunk', '/p/a <- /p/a 2 3!', '{"outcome":"selected","optionId":"yes"}']);
});

test('a refusal carries the words that the agent has for the person', async () => {
  const agent = pair(
    app().onRequest(M.session.new, () => {
      throw new acp.RequestError(-32000, 'Authentication required', { details: 'Set a key.' });
    }),
  );
  await agent.initialize('1.0.0');
  const thrown: unknown = await agent.newSession('/p').catch((error: unknown) => error);
  assert.ok(thrown instanceof Failure);
  assert.deepEqual([thrown.message, thrown.needsAuth, thrown.notFound], ['Set a key.', true, false]);
});

test('a broken connection fails what is open', async () => {
  const agent = pair(app().onRequest(M.session.prompt, () => new Promise<never>(() => undefined)));
  await agent.initialize('1.0.0');
  const turn = agent.prompt('s', [text('hello')]).catch((error: unknown) => error);
  agent.close();
  await agent.closed;
  assert.ok((await turn) instanceof Failure);
  assert.equal(agent.over, true);
});

test('any thrown thing becomes a failure with words', () => {
  assert.equal(failureOf('odd').message, 'odd');
  assert.equal(failureOf({ code: -32002, message: 'Session not found' }).notFound, true);
  assert.equal(failureOf({}).message, 'The server gave no reason.');
});
