/** A gateway that has more to do than it can refuses new requests early, takes nothing for them, and recovers by itself. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Overload, OverloadJudge } from '../../src/http/overload.ts';
import { answering, completion } from '../support/answers.ts';
import { CONFIG, type KeyJson, PROGRAM, Workplace } from '../support/cli.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, withGateway } from '../support/gateway.ts';
import { bounded, until } from '../support/wait.ts';

const BLOCK = fileURLToPath(new URL('./block-loop.js', import.meta.url));

describe('a gateway is overloaded', () => {
  const marks = { loopDelayMs: 100, memoryBytes: 1_000 };
  const none = { loopDelayMs: undefined, memoryBytes: undefined };
  type Look = readonly [lateMs: number, memoryBytes: number];
  const rows: readonly (readonly [name: string, looks: readonly Look[], result: Overload | undefined])[] = [
    ['not while it is in time', [[0, 0]], undefined],
    ['not when it was late once', [[500, 0]], undefined],
    ['when it is late again', [[500, 0], [101, 0]], 'loop_delay'], // biome-ignore format: a row
    ['not when it is late again, but less than that', [[500, 0], [100, 0]], undefined], // biome-ignore format: a row
    ['not when it was in time in between', [[500, 0], [0, 0], [500, 0]], undefined], // biome-ignore format: a row
    ['no more as soon as it is in time', [[500, 0], [500, 0], [0, 0]], undefined], // biome-ignore format: a row
    ['when it needs too much memory', [[0, 1_001]], 'memory'],
    ['not when it needs as much as it may', [[0, 1_000]], undefined],
    ['no more when it needs less again', [[0, 1_001], [0, 999]], undefined], // biome-ignore format: a row
  ];
  for (const [name, looks, result] of rows) {
    test(name, () => {
      const judge = new OverloadJudge();
      assert.equal(looks.map(([lateMs, memory]) => judge.judge(marks, lateMs, memory)).at(-1), result);
    });
  }

  test('never where nothing is set', () => {
    const judge = new OverloadJudge();
    for (let i = 0; i < 3; i++) assert.equal(judge.judge(none, 10_000, 1e12), undefined);
  });
});

test('a process whose event loop is blocked again and again refuses, stays alive, and recovers', async (t) => {
  const place = new Workplace(t, `${CONFIG}overload: { loop_delay: 50ms }\n`);
  const key = await place.createKey('app');
  const serving = await place.serve(['--import', BLOCK, PROGRAM, 'serve']);
  const chatStatus = async () => (await serving.chat(key.key)).status;
  assert.equal(await chatStatus(), 200);

  serving.signal('SIGUSR2');
  await until(async () => (await chatStatus()) === 429);
  const admitted = (await place.json<KeyJson>('keys', 'show', 'app')).month.requests;
  const refused = await serving.chat(key.key);
  assert.equal(refused.headers.get('retry-after'), '1');
  ratesOf(refused.headers);
  assert.match(refused.headers.get('x-request-id') ?? '', /^req_/);
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'rate_limited');
  assert.equal((await fetch(`${serving.url}/v1/models`)).status, 429);
  for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(serving.url + path)).status, 200);
  assert.equal((await place.json<KeyJson>('keys', 'show', 'app')).month.requests, admitted);

  serving.signal('SIGUSR2');
  await until(async () => (await chatStatus()) === 200);
  const line = await bounded(serving.logged(/refused in the last seconds/), 'the log tells of it');
  assert.equal(line.cause, 'loop_delay');
  assert.ok((line.refused as number) >= 3);
  assert.equal(await serving.stop(), 0);
});

test('a process that needs too much memory refuses what comes while something else is under way', () =>
  // Less than any process needs: it is overloaded from its first look on.
  withGateway({ config: { overload: { memory: '64mb' } } }, async (gateway) => {
    const [holder, other] = [gateway.key(), gateway.key()];
    const release = Promise.withResolvers<void>();
    gateway.upstream.follow(async (call) => {
      await release.promise;
      call.answer(200, completion('hi'));
    });
    const first = gateway.complete(holder);
    await gateway.upstream.call();
    let refused = await gateway.request('/v1/models/fake/none', { key: other });
    await until(async () => {
      refused = await gateway.request('/v1/models/fake/none', { key: other });
      return refused.status !== 404;
    });
    assertError(refused, 429, 'rate_limited');
    const before = await Promise.all(Array.from({ length: 20 }, () => gateway.complete(other)));
    assert.deepEqual([...new Set(before.map(({ status }) => status))], [429]);
    assert.deepEqual(gateway.rows(other), []);
    assert.equal(gateway.upstream.calls.length, 1);
    release.resolve();
    assert.equal((await first).status, 200);

    gateway.upstream.follow(answering(completion('hi')));
    await until(async () => (await gateway.inFlight()) === 0);
    const next = await gateway.complete(other, chat());
    assert.equal(next.status, 200, 'what comes when nothing is under way is served, however much memory there is');
    assert.equal(ratesOf(next.headers).remainingRequests, 599);
  }));
