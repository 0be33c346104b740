/** Who requests were for: the gateway reads it in each dialect, and the host gets no more of it than before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../src/audit/audit.ts';
import { completion } from '../support/answers.ts';
import { sharedGateway } from '../support/gateway.ts';

const gateway = await sharedGateway({ config: { threads: 2 } });

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: 10, output_tokens: 6, total_tokens: 16 },
};

const DIALECTS = [
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'Hi' }], user: 'alice' },
    completion('Hi.'),
    'openai-python',
  ],
  ['/v1/responses', { input: 'Hi', user: 'alice' }, RESPONSE, 'openai-node'],
  [
    '/v1/messages',
    { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9, metadata: { user_id: 'alice' } },
    completion('Hi.'),
    'claude-cli',
  ],
] as const;

const AGENTS = {
  'openai-python': 'OpenAI/Python 2.1',
  'openai-node': 'OpenAI/JS 6.0',
  'claude-cli': 'claude-cli/2.1.80 (x)',
};

for (const [path, fields, answer, app] of DIALECTS) {
  test(`of ${path}: user, tag and app are in its row, and the tag does not reach the host`, async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer));
    const headers = { 'X-Inf-Gw-Tag': 'team \u00e9', 'User-Agent': AGENTS[app] };
    const reply = await gateway.post(path, key, { model: 'fake/echo', ...fields }, { headers });
    assert.equal(reply.status, 200, reply.text);
    const call = await gateway.upstream.call();
    assert.ok(
      call.headerLines.every(([name, value]) => name.toLowerCase() !== 'x-inf-gw-tag' && !value.includes('team')),
    );
    assert.ok(!call.body.includes('team'));
    assert.equal((JSON.parse(call.body) as { user?: string }).user, 'alice');
    const [row] = gateway.rows(key);
    assert.deepEqual([row?.by_user, row?.by_tag, row?.by_app], ['alice', 'team é', app]);
  });
}

test('a header names the end user before the body does, and reaches no host', async () => {
  for (const [path, fields, answer] of DIALECTS) {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer));
    const headers = { 'X-Inf-Gw-User': Buffer.from('zoë').toString('latin1') };
    const reply = await gateway.post(path, key, { model: 'fake/echo', ...fields }, { headers });
    assert.equal(reply.status, 200, reply.text);
    const call = await gateway.upstream.call();
    assert.ok(call.headerLines.every(([name]) => name.toLowerCase() !== 'x-inf-gw-user'));
    assert.ok(call.body.includes('alice') && !call.body.includes('zo'));
    assert.equal(gateway.rows(key)[0]?.by_user, 'zoë');
  }
});

test('who names an end user by what is no name is told where, and nothing is sent', async () => {
  for (const [path, fields] of DIALECTS) {
    const key = gateway.key();
    const tooLong = { metadata: { user_id: 'x'.repeat(257) } };
    const wrong = [
      [{ 'X-Inf-Gw-User': 'b\xfcro' }, fields, 'X-Inf-Gw-User'],
      [{}, { ...fields, safety_identifier: 'x'.repeat(257) }, 'safety_identifier'],
      // A whole megabyte of it is refused for its length, and by its place.
      [{}, { ...fields, safety_identifier: 'é'.repeat(2 ** 19) }, 'safety_identifier'],
      [{}, path === '/v1/messages' ? { ...fields, ...tooLong } : { ...fields, user: '\ud800' }, ''],
    ] as const;
    for (const [headers, asked, place] of wrong) {
      const reply = await gateway.post(path, key, { model: 'fake/echo', ...asked }, { headers });
      assert.equal(reply.status, 400, reply.text);
      assert.match(reply.text, new RegExp(`${place || '(user|metadata.user_id)'}: expected the name of an end user`));
    }
    assert.deepEqual(gateway.rows(key), []);
  }
});

test('a request that names nobody has none, and the books agree', async () => {
  const key = gateway.key();
  gateway.upstream.follow((call) => call.answer(200, completion('Hi.')));
  const headers = { 'User-Agent': '', 'X-Inf-Gw-Tag': ' ' };
  assert.equal(
    (
      await gateway.post(
        '/v1/chat/completions',
        key,
        { model: 'fake/echo', messages: [{ role: 'user', content: 'Hi' }] },
        { headers },
      )
    ).status,
    200,
  );
  const [row] = gateway.rows(key);
  assert.deepEqual([row?.by_user, row?.by_tag, row?.by_app], [null, null, null]);
  const faults = audit(gateway.statePath, { onProgress: () => {} }).flatMap(({ differences }) => differences);
  assert.deepEqual(faults, []);
});
