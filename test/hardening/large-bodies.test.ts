/** One key against all others with its request bodies: memory, the event loop, and limits that refuse before reading. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, afterEach, describe, mock, test } from 'node:test';
import { FULL_BODIES_IN_READING, FULL_BODIES_UNPAID, LARGE_BODY_BYTES } from '../../src/http/body-limiter.ts';
import { PROCESS_MEMORY } from '../../src/http/memory.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, startTestGateway, type TestKey } from '../support/gateway.ts';
import { rawCompletion } from '../support/raw.ts';
import { until } from '../support/wait.ts';

/** The clock of this process moves only by hand: refused bytes are forgiven by time. */
let aheadMs = 0;
const startMs = Math.round(performance.now());
mock.method(performance, 'now', () => startMs + aheadMs);

const MAX = 4 * LARGE_BODY_BYTES;
const config = { max_body: '4mb', overload: { loop_delay: 'off' } };
const gateway = await startTestGateway({ config });
const poor = await startTestGateway({ config, credit: '0' });
after(async () => {
  await gateway.stop();
  await poor.stop();
  mock.reset();
});
afterEach(() => gateway.assertSettled());
gateway.upstream.follow(answering(completion('hi')));
poor.upstream.follow(answering(completion('hi')));

const LIMITS = { rpm: 100_000, tpm: 1_000_000_000, concurrency: 60 };
const FILLER = Buffer.alloc(MAX, 'x');

/** A valid body of about this many bytes, whose bulk is an unknown field. */
const bodyOf = (bytes: number, fields: Record<string, unknown> = {}) => chat({ padding: 'x'.repeat(bytes), ...fields });

/** The head of a request with a body of this length. */
const headOf = (key: TestKey, length: number, more = '') =>
  rawCompletion(key, '').replace('Content-Length: 0', `${more}Content-Length: ${length}`);

/** Sends all but the last bytes of a body. Resolves once they are sent, or with a response, which it passes to `onAnswer`. */
async function sendUnfinished(port: number, key: TestKey, onAnswer: (text: string) => void): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.write(headOf(key, MAX));
  await new Promise<void>((resolve) => {
    socket.once('data', (bytes) => {
      onAnswer(bytes.toString('latin1'));
      resolve();
    });
    socket.write(FILLER.subarray(0, MAX - 1000), () => resolve());
  });
  return socket;
}

/** What the buffers of this process hold, in bytes: those of the clients are shared. */
function bufferBytes(): number {
  PROCESS_MEMORY.collect();
  return process.memoryUsage().arrayBuffers;
}

test('48 unfinished bodies of one key take the memory of four; others are served, and so is the key afterwards', async () => {
  const [attacker, other] = [gateway.key(LIMITS), gateway.key(LIMITS)];
  const before = bufferBytes();
  const refusals: string[] = [];
  const sockets = await Promise.all(
    Array.from({ length: 48 }, () => sendUnfinished(gateway.port, attacker, (text) => refusals.push(text))),
  );
  await until(() => refusals.length >= 48 - FULL_BODIES_IN_READING);
  // What the refused ones have sent is garbage; what is in reading stays.
  await until(() => bufferBytes() - before < 2 * FULL_BODIES_IN_READING * MAX);
  assert.equal(refusals.length, 48 - FULL_BODIES_IN_READING);
  for (const refusal of refusals) assert.match(refusal, /^HTTP\/1\.1 429 .*Retry-After: 1\r\n.*"rate_limited"/s);
  assert.equal((await gateway.complete(other, bodyOf(2 * LARGE_BODY_BYTES))).status, 200);
  assert.equal((await gateway.complete(gateway.key(LIMITS))).status, 200);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await gateway.inFlight()) === 0);
  const answer = await gateway.complete(attacker, bodyOf(2 * LARGE_BODY_BYTES));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(ratesOf(answer.headers).remainingRequests, LIMITS.rpm - 1, 'the refused ones took nothing');
});

/** A key without room, what refuses it, and the gateway that it belongs to. */
const REFUSED: readonly (readonly [name: string, code: string, status: number, make: () => Promise<TestKey>])[] = [
  ['the spend limit is reached', 'spend_limit_reached', 402, async () => poor.key({ ...LIMITS, spendLimitNanos: 0n })],
  ['the credit is gone', 'insufficient_credit', 402, async () => poor.key({ ...LIMITS, allowlist: ['fake/echo'] })],
  [
    'the requests per minute are used up',
    'rate_limited',
    429,
    async () => {
      const key = poor.key({ ...LIMITS, rpm: 1 });
      assert.equal((await poor.complete(key, chat({ model: 'fake/free' }))).status, 200);
      return key;
    },
  ],
];

describe('a large body is refused before it is read if', () => {
  for (const [name, code, status, make] of REFUSED) {
    test(`${name}, by its declared length or when that much has arrived, and small ones get their own error`, async () => {
      const key = await make();
      for (const more of ['', 'Expect: 100-continue\r\n']) {
        const connection = await poor.sending(headOf(key, LARGE_BODY_BYTES + 1, more));
        assertError(await connection.answer(), status, code);
        connection.leave();
      }
      const chunked = await poor.sending(headOf(key, 0).replace('Content-Length: 0', 'Transfer-Encoding: chunked'));
      chunked.send(`${MAX.toString(16)}\r\n`);
      chunked.send(FILLER.subarray(0, LARGE_BODY_BYTES + 1));
      assertError(await chunked.answer(), status, code);
      chunked.leave();
      assertError(await poor.complete(key, chat({ model: 'no/such' })), 404, 'model_not_found');
      assertError(await poor.complete(key, '{'), 400, 'invalid_request');
      assertError(await poor.complete(key, bodyOf(LARGE_BODY_BYTES / 2, { model: 'no/such' })), 404, 'model_not_found');
      assertError(await poor.complete(key, bodyOf(MAX)), 413, 'invalid_request');
    });
  }

  test('all slots are taken', async () => {
    const key = gateway.key({ ...LIMITS, concurrency: 1 });
    const release = gateway.upstream.followLater(answering(completion('hi')));
    const running = gateway.complete(key);
    await gateway.upstream.call();
    const connection = await gateway.sending(headOf(key, LARGE_BODY_BYTES + 1));
    const answer = await connection.answer();
    assertError(answer, 429, 'rate_limited');
    assert.equal(answer.headers.get('retry-after'), '1');
    connection.leave();
    release();
    assert.equal((await running).status, 200);
  });

  test('not if it may name a model that costs nothing', async () => {
    const key = poor.key(LIMITS);
    const answer = await poor.complete(key, bodyOf(LARGE_BODY_BYTES, { model: 'fake/free' }));
    assert.equal(answer.status, 200, answer.text);
    assertError(await poor.complete(key, bodyOf(LARGE_BODY_BYTES)), 402, 'insufficient_credit');
  });
});

test('large bodies whose tokens are only counted, which is free, are read as often as refused ones', async () => {
  const [attacker, other] = [poor.key(LIMITS), poor.key(LIMITS)];
  const body = bodyOf(MAX - 1_000, {
    padding: undefined,
    messages: [{ role: 'user', content: 'x'.repeat(MAX - 1_000) }],
  });
  const count = async (key: TestKey, sent: string) => {
    const path = '/v1/messages/count_tokens';
    return (await poor.post(path, key, sent)).status;
  };
  const statuses: number[] = [];
  for (let i = 0; i < FULL_BODIES_UNPAID + 3; i++) statuses.push(await count(attacker, body));
  assert.deepEqual(statuses, [...Array(FULL_BODIES_UNPAID + 1).fill(200), 429, 429]);
  assert.deepEqual([await count(attacker, chat()), await count(other, body)], [200, 200]);
});

test('large bodies that are refused are read only so often, and other keys and small bodies as ever', async () => {
  const [attacker, other] = [gateway.key(LIMITS), gateway.key(LIMITS)];
  gateway.upstream.follow(answering(completion('hi')));
  const wrong = bodyOf(MAX - 1_000, { model: 'no/such' });
  const statuses = async (count: number) => {
    const all: number[] = [];
    for (let i = 0; i < count; i++) all.push((await gateway.complete(attacker, wrong)).status);
    return all;
  };
  const [read, unread] = [FULL_BODIES_UNPAID + 1, 5];
  assert.deepEqual(await statuses(read + unread), [...Array(read).fill(404), ...Array(unread).fill(429)]);
  const refused = await gateway.complete(attacker, bodyOf(MAX - 1_000));
  assertError(refused, 429, 'rate_limited');
  assertError(await gateway.complete(attacker, chat({ model: 'no/such' })), 404, 'model_not_found');
  assertError(await gateway.complete(other, wrong), 404, 'model_not_found');
  aheadMs += Number(refused.headers.get('retry-after')) * 1_000;
  assert.equal((await gateway.complete(attacker, bodyOf(MAX - 1_000))).status, 200);
});
