/** Which error wins when several apply, and that a rejected request takes nothing. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import {
  chat,
  type GatewayOptions,
  sharedGateway,
  type TestGateway,
  type TestKey,
  withGateway,
} from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const SMALL: GatewayOptions = { config: { max_body: '4kb' } };
const gateway = await sharedGateway(SMALL);

const TOO_LARGE = 'x'.repeat(5000);
const NO_MESSAGES = { messages: [] };
/** What one request of these tests costs. */
const COST_NANOS = 20_000n;

interface Case {
  /** The two rules that the request breaks; the first must win. */
  readonly name: string;
  readonly status: number;
  readonly code: string;
  /** What the message must contain, if code and status are not enough. */
  readonly message?: RegExp;
  readonly settings?: Parameters<TestGateway['key']>[0];
  /** Changes the key after its one valid request. */
  readonly change?: (key: TestKey) => void;
  readonly body?: string | Buffer;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

const disable = (key: TestKey) => gateway.setState(key, 'disabled');
const spend = (key: TestKey) => gateway.setLimits(key, { spendLimitNanos: COST_NANOS });
const exhaust = (key: TestKey) => gateway.setLimits(key, { rpm: 1 });

const CASES: readonly Case[] = [
  {
    name: 'no such path, before a wrong method',
    path: '/v1/nothing',
    method: 'DELETE',
    status: 404,
    code: 'invalid_request',
  },
  {
    name: 'no such path, before a missing key',
    path: '/v1/completions',
    headers: { authorization: '' },
    status: 404,
    code: 'invalid_request',
  },
  {
    name: 'a wrong method, before a missing key',
    method: 'PUT',
    headers: { authorization: '' },
    status: 405,
    code: 'invalid_request',
  },
  {
    name: 'a missing key, before a body too large',
    headers: { authorization: '' },
    body: TOO_LARGE,
    status: 401,
    code: 'unauthorized',
  },
  {
    name: 'an unknown key, before a body too large',
    headers: { authorization: `Bearer ${mintKey()}` },
    body: TOO_LARGE,
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'a disabled key, before a body too large',
    change: disable,
    body: TOO_LARGE,
    status: 403,
    code: 'api_key_disabled',
  },
  { name: 'a body too large, before one that is not JSON', body: TOO_LARGE, status: 413, code: 'invalid_request' },
  {
    name: 'bytes that are not UTF-8, before an unknown model',
    body: Buffer.from('{"model":"no/such\xff"}', 'latin1'),
    status: 400,
    code: 'invalid_request',
    message: /UTF-8/,
  },
  {
    name: 'a duplicate field, before an unknown model',
    body: '{"model":"no/such","n":1,"n":2}',
    status: 400,
    code: 'invalid_request',
    message: /Duplicate field/,
  },
  {
    name: 'a missing model, before other invalid fields',
    body: chat({ model: undefined, n: 0 }),
    status: 400,
    code: 'invalid_request',
    message: /model/,
  },
  {
    name: 'a model that is not a string, before other invalid fields',
    body: chat({ model: 7, n: 0 }),
    status: 400,
    code: 'invalid_request',
    message: /model/,
  },
  {
    name: 'an unknown model, before the allowlist',
    settings: { allowlist: ['fake/echo'] },
    body: chat({ model: 'no/such' }),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'a model without its provider, before the allowlist',
    settings: { allowlist: ['fake/echo'] },
    body: chat({ model: 'echo' }),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'an unknown model, before empty messages',
    body: chat({ model: 'no/such', ...NO_MESSAGES }),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'the allowlist, before empty messages',
    settings: { allowlist: ['fake/echo'] },
    body: chat({ model: 'fake/free', ...NO_MESSAGES }),
    status: 403,
    code: 'model_not_allowed',
  },
  {
    name: 'empty messages, before the spend limit',
    change: spend,
    body: chat(NO_MESSAGES),
    status: 400,
    code: 'invalid_request',
    message: /messages/,
  },
  {
    name: 'the spend limit, before the requests per minute',
    change: (key) => [spend(key), exhaust(key)],
    status: 402,
    code: 'spend_limit_reached',
  },
  {
    name: 'the requests per minute, before the tokens per minute',
    change: (key) => gateway.setLimits(key, { rpm: 1, tpm: 20 }),
    status: 429,
    code: 'rate_limited',
    message: /request per minute/,
  },
  { name: 'the requests per minute, before a failing upstream', change: exhaust, status: 429, code: 'rate_limited' },
];

/** Sends one valid request, so that there is something that a rejected one could change. */
async function usedKey(on: TestGateway, settings: Case['settings']): Promise<TestKey> {
  on.upstream.follow(answering(completion('hi')));
  const key = on.key(settings);
  assert.equal((await on.complete(key)).status, 200);
  return key;
}

/** Everything that a rejected request must leave unchanged. */
async function stateOf(on: TestGateway, key: TestKey) {
  // This request is rejected too, whatever the key's state: its body is not JSON.
  const { remainingRequests, remainingTokens } = ratesOf((await on.complete(key, '')).headers);
  return { remainingRequests, remainingTokens, rows: on.rows(key), holds: on.holds(key), balance: on.balanceNanos };
}

describe('of two errors the first wins, and nothing is taken:', () => {
  for (const { name, status, code, message, settings, change, body, method = 'POST', path, headers } of CASES) {
    test(name, async () => {
      const key = await usedKey(gateway, settings);
      change?.(key);
      gateway.upstream.follow((call) => call.reset());
      const before = await stateOf(gateway, key);
      const sending = { key, method, body: body ?? chat(), headers: headers ?? {} };
      const answer = await gateway.request(path ?? '/v1/chat/completions', sending);
      assert.match(assertError(answer, status, code), message ?? /./);
      assert.deepEqual(await stateOf(gateway, key), before);
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }

  const rawCases = [
    {
      name: 'a duplicate Host, before no such path',
      lines: 'POST /v1/nothing HTTP/1.1\r\nHost: x\r\nHost: y\r\n',
      status: 400,
    },
    { name: 'a missing Host, before a wrong method', lines: 'PUT /v1/chat/completions HTTP/1.1\r\n', status: 400 },
    {
      name: 'headers too large, before no such path',
      lines: `POST /v1/no HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n`,
      status: 431,
    },
  ];
  for (const { name, lines, status } of rawCases) {
    test(name, async () => {
      const connection = await gateway.sending(`${lines}Content-Length: 0\r\n\r\n`);
      assertError(await connection.answer(), status, 'invalid_request');
      await connection.rest();
    });
  }
});

describe('errors that need the whole account', () => {
  // A request holds 205,000 nanodollars and costs 20,000: the first one passes, the next ones do
  // not.
  const poor: GatewayOptions = { credit: '0.00021' };
  const rows: readonly { name: string; change: (on: TestGateway, key: TestKey) => void; code: string }[] = [
    {
      name: 'the spend limit, before missing credit',
      change: (on, key) => on.setLimits(key, { spendLimitNanos: COST_NANOS }),
      code: 'spend_limit_reached',
    },
    {
      name: 'missing credit, before the requests per minute',
      change: (on, key) => on.setLimits(key, { rpm: 1 }),
      code: 'insufficient_credit',
    },
  ];
  for (const { name, change, code } of rows) {
    test(name, () =>
      withGateway(poor, async (on) => {
        const key = await usedKey(on, {});
        change(on, key);
        on.upstream.follow((call) => call.reset());
        const before = await stateOf(on, key);
        assertError(await on.complete(key), 402, code);
        assert.deepEqual(await stateOf(on, key), before);
        assert.equal(on.upstream.calls.length, 0);
      }),
    );
  }
});

describe('errors while a request is in flight', () => {
  const rows = [
    {
      name: 'the tokens per minute, before concurrency',
      limits: { tpm: 1005, concurrency: 1 },
      message: /tokens per minute/,
    },
    { name: 'concurrency, before a failing upstream', limits: { concurrency: 1 }, message: /concurrent/ },
  ];
  for (const { name, limits, message } of rows) {
    test(name, async () => {
      const key = gateway.key(limits);
      const release = gateway.upstream.followLater(answering(completion('hi')));
      const body = chat({ max_tokens: 1000 });
      const first = gateway.complete(key, body);
      await gateway.upstream.call();
      const before = await stateOf(gateway, key);
      assert.equal(before.holds, 1);
      assert.match(assertError(await gateway.complete(key, body), 429, 'rate_limited'), message);
      assert.deepEqual(await stateOf(gateway, key), before);
      assert.equal(gateway.upstream.calls.length, 1);
      release();
      assert.equal((await first).status, 200);
    });
  }
});

test('an admitted request that fails upstream has a row, and stays in the window', async () => {
  gateway.upstream.follow((call) => call.reset());
  const key = gateway.key();
  const answer = await gateway.complete(key);
  assertError(answer, 502, 'upstream_error');
  assert.equal(ratesOf(answer.headers).remainingRequests, 599);
  assert.equal(gateway.rows(key)[0]?.request_id, answer.headers.get('x-request-id'));
  await until(() => gateway.holds(key) === 0);
});
