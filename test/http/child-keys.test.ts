/** Keys that a key makes: what it may give them, who sees them, and that they are tighter than it in everything. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { BookAtOnce } from '../../src/state/book.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { type Reply, startTestGateway, type TestKey } from '../support/gateway.ts';

const USD = 1_000_000_000n;
const TIGHT = {
  rpm: 10,
  concurrency: 2,
  spendLimitNanos: 5n * USD,
  budgets: [{ period: 'day', limitNanos: USD }],
  expiresAtMs: Date.UTC(2099, 0),
  allowlist: ['fake/echo'],
  mayCreate: true,
};

const gateway = await startTestGateway();
after(() => gateway.stop());
before(() => gateway.upstream.follow(answering(completion('hi'))));

const post = (key: TestKey, asked: object) => gateway.post('/v1/keys', key, asked);
const json = <T = ReturnType<BookAtOnce['keys']['list']>[number] & { key: string }>({ text }: Reply) =>
  JSON.parse(text) as T;
let made = 0;
const name = () => `child ${++made}`;

async function childOf(parent: TestKey, asked: object = {}): Promise<TestKey> {
  const answer = await post(parent, { name: name(), ...asked });
  assert.equal(answer.status, 201, answer.text);
  const { id, key: secret } = json(answer);
  return { id, secret };
}

describe('a key that may make others', () => {
  test('gets one as `keys create` prints it, which works at once', async () => {
    const parent = gateway.key({ mayCreate: true });
    const asked = {
      ...{ name: name(), rpm: 5, tpm: 9_000, concurrency: 1, spend_limit_usd: '0.5' },
      ...{ budgets: { day: '0.25', total: '1' }, expires_in: '1h', allowlist: ['fake/echo'] },
    };
    const answer = await post(parent, asked);
    assert.equal(answer.status, 201, answer.text);
    const { id, key, preview, created_at, expires_at, budgets, ...rest } = JSON.parse(answer.text);
    assert.match(id, /^key_/);
    assert.equal(preview, `sk-inf-…${key.slice(-4)}`);
    const hourMs = Date.parse(expires_at) - Date.parse(created_at);
    assert.ok(hourMs > 3_590_000 && hourMs <= 3_600_000, expires_at);
    assert.deepEqual(
      budgets.map(({ period, limit_usd }: { period: string; limit_usd: string }) => [period, limit_usd]),
      [
        ['day', '0.25'],
        ['total', '1.00'],
      ],
    );
    assert.deepEqual(rest, {
      name: asked.name,
      group: null,
      state: 'enabled',
      limits: { rpm: 5, tpm: 9_000, concurrency: 1 },
      spend_limit_usd: '0.50',
      allowlist: ['fake/echo'],
      user_limits: null,
      month: { requests: 0, tokens: 0, cost_usd: '0.00' },
    });
    assert.equal((await gateway.complete({ id, secret: key })).status, 200);
  });

  test('gives what is not asked for from its own limits, and expires with it', async () => {
    const answer = await post(gateway.key(TIGHT), { name: name() });
    const { limits, expires_at: expires } = JSON.parse(answer.text);
    assert.deepEqual([limits.rpm, limits.concurrency, expires], [10, 2, '2099-01-01T00:00:00.000Z']);
  });

  for (const [field, asked] of [
    ['rpm', { rpm: 11 }],
    ['tpm', { tpm: 1e15 }],
    ['concurrency', { concurrency: 3 }],
    ['spend_limit_usd', { spend_limit_usd: '5.01' }],
    ['budgets', { budgets: { day: '1.000000001' } }],
    ['expires_in', { expires_in: '2100-01-01' }],
    ['allowlist', { allowlist: ['fake/echo', 'fake/free'] }],
    ['rpm', { rpm: 0 }],
    ['rpm', { rpm: [1] }],
    ['rpm', { rpm: '5' }],
    ['tpm', { tpm: 1.5 }],
    ['concurrency', { concurrency: true }],
    ['spend_limit_usd', { spend_limit_usd: '-1' }],
    ['spend_limit_usd', { spend_limit_usd: 1 }],
    ['budgets', { budgets: { day: 1 } }],
    ['budgets', { budgets: { day: 'none' } }],
    ['budgets', { budgets: { fortnight: '1' } }],
    ['budgets', { budgets: 'day=1' }],
    ['expires_in', { expires_in: 'never' }],
    ['allowlist', { allowlist: 'fake/echo' }],
    ['allowlist', { allowlist: [null] }],
    ['name', { name: '@team' }],
    ['name', { name: undefined }],
    ['name', { name: null }],
    ['name', { name: 1 }],
    ['expires_in', { expires_in: 3600 }],
    ['cap_output', { cap_output: 'yes' }],
    ['"?may_create"?', { may_create: true }],
  ] as const) {
    test(`cannot give more than it has, or nonsense: ${JSON.stringify(asked)} is 400, and names the field`, async () => {
      const parent = gateway.key(TIGHT);
      const answer = await post(parent, { name: name(), ...asked });
      assertError(answer, 400, 'invalid_request');
      assert.match(answer.error.message, new RegExp(`^${field}: `));
      const listed = await gateway.request('/v1/keys', { key: parent });
      assert.deepEqual(json<{ data: unknown[] }>(listed).data, []);
      assert.equal(ratesOf(listed.headers).remainingRequests, 5_999, 'a refusal takes nothing');
    });
  }

  test('is told how budgets are written in JSON', async () => {
    for (const budgets of [{ fortnight: '1' }, { day: 1 }, { day: 'none' }, 'day=1']) {
      const answer = await post(gateway.key(TIGHT), { name: name(), budgets });
      assert.match(answer.error.message, /such as {"day": "5", /);
    }
  });

  test('sees and deletes its own, and no others', async () => {
    const [parent, other] = [gateway.key({ mayCreate: true }), gateway.key({ mayCreate: true })];
    const [first, second, foreign] = [await childOf(parent), await childOf(parent), await childOf(other)];
    const listed = async () =>
      json<{ object: string; data: { id: string; key?: string }[] }>(
        await gateway.request('/v1/keys', { key: parent }),
      );
    const { object, data } = await listed();
    assert.deepEqual([object, data.map(({ id }) => id), data[0]?.key], ['list', [first.id, second.id], undefined]);
    const remove = (id: string) => gateway.request(`/v1/keys/${id}`, { key: parent, method: 'DELETE' });
    for (const id of [foreign.id, parent.id, gateway.key().id, 'key_none'])
      assertError(await remove(id), 404, 'invalid_request');
    const deleted = await remove(first.id);
    assert.equal(ratesOf(deleted.headers).remainingRequests, 6_000 - 4, 'two were made, and there was one list');
    assert.deepEqual([deleted.status, json(deleted).state, json(deleted).id], [200, 'deleted', first.id]);
    assertError(await gateway.complete(first), 401, 'invalid_api_key');
    assertError(await remove(first.id), 404, 'invalid_request');
    assert.equal((await gateway.complete(foreign)).status, 200);
    assert.deepEqual(
      (await listed()).data.map(({ id }) => id),
      [second.id],
    );
  });

  test('cannot give a name twice', async () => {
    const parent = gateway.key({ mayCreate: true });
    const asked = { name: name() };
    assert.equal((await post(parent, asked)).status, 201);
    const again = await post(parent, asked);
    assertError(again, 400, 'invalid_request');
    assert.match(again.error.message, /^name: /);
  });

  test('learns nothing of the names of others', async () => {
    const parent = gateway.key({ mayCreate: true, name: 'agent' });
    const other = gateway.key({ mayCreate: true });
    const taken = name();
    for (const theirs of [taken, `agent/${taken}`]) gateway.key({ name: theirs });
    for (const key of [parent, other]) {
      const answer = await post(key, { name: taken });
      assert.deepEqual([answer.status, json(answer).name], [201, taken], answer.text);
    }
    const { data } = json<{ data: { id: string; name: string }[] }>(await gateway.request('/v1/keys', { key: parent }));
    assert.deepEqual(
      data.map((child) => child.name),
      [taken],
    );
    assertError(await post(parent, { name: taken }), 400, 'invalid_request');
  });

  test('reads of its body what every request may be told', async () => {
    const parent = gateway.key({ mayCreate: true });
    for (const body of ['', '[]', '{"name": 1', '{"name": "a", "name": "b"}']) {
      assertError(await gateway.post('/v1/keys', parent, body), 400, 'invalid_request');
    }
  });
});

describe('for a key that may not make others, and for one that was made by another', () => {
  test('the paths do not exist', async () => {
    const child = await childOf(gateway.key({ mayCreate: true }));
    for (const key of [gateway.key(), child]) {
      for (const [method, path] of [
        ['POST', '/v1/keys'],
        ['GET', '/v1/keys'],
        ['DELETE', `/v1/keys/${child.id}`],
      ] as const) {
        const body = method === 'POST' ? { body: JSON.stringify({ name: name() }) } : {};
        const answer = await gateway.request(path, { key, method, ...body });
        assertError(answer, 404, 'invalid_request');
        assert.match(answer.error.message, /^No such path: /);
        assert.equal(ratesOf(answer.headers).remainingRequests, 6_000, 'it takes nothing');
      }
    }
    assertError(await gateway.request('/v1/keys'), 401, 'unauthorized');
    assertError(await gateway.request('/v1/keys', { key: child, method: 'PUT', body: '{}' }), 405, 'invalid_request');
  });
});
