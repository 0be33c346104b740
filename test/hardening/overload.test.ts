/**
 * An overloaded gateway rejects new requests early, takes nothing for them, and recovers by itself.
 */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MemoryMeter, type MemorySource, PROCESS_MEMORY } from '../../src/http/memory.ts';
import { type Overload, OverloadDetector } from '../../src/http/overload.ts';
import { answering, completion } from '../support/answers.ts';
import { CONFIG, type KeyJson, PROGRAM, Workplace } from '../support/cli.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, withGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const BLOCK = fileURLToPath(new URL('./block-loop.js', import.meta.url));

describe('a gateway is overloaded', () => {
  const thresholds = { loopDelayMs: 100, memoryBytes: 1_000, threads: 1 };
  const none = { loopDelayMs: undefined, memoryBytes: undefined, threads: 1 };
  type Sample = readonly [lateMs: number, memoryBytes: number];
  const rows: readonly (readonly [name: string, samples: readonly Sample[], result: Overload | undefined])[] = [
    ['not while it is on time', [[0, 0]], undefined],
    ['not when it was late once', [[500, 0]], undefined],
    ['when it is late again', [[500, 0], [101, 0]], 'loop_delay'], // biome-ignore format: a row
    ['not when it is late again, but within the threshold', [[500, 0], [100, 0]], undefined], // biome-ignore format: a row
    ['not when it was on time in between', [[500, 0], [0, 0], [500, 0]], undefined], // biome-ignore format: a row
    ['no longer once it is on time', [[500, 0], [500, 0], [0, 0]], undefined], // biome-ignore format: a row
    ['when it uses too much memory', [[0, 1_001]], 'memory'],
    ['not when it uses exactly the threshold', [[0, 1_000]], undefined],
    ['no longer once it uses less', [[0, 1_001], [0, 999]], undefined], // biome-ignore format: a row
  ];
  for (const [name, samples, result] of rows) {
    test(name, () => {
      const detector = new OverloadDetector();
      assert.equal(samples.map(([lateMs, memory]) => detector.sample(thresholds, lateMs, memory)).at(-1), result);
    });
  }

  test('never if no threshold is set', () => {
    const detector = new OverloadDetector();
    for (let i = 0; i < 3; i++) assert.equal(detector.sample(none, 10_000, 1e12), undefined);
  });
});

describe('the memory that is compared with a threshold of 1000', () => {
  /** A process with 5000 bytes resident, and this much in use before and after a collection. */
  function processOf(usedBytes: number, leftBytes: number, resident = 5_000) {
    let isCollected = false;
    const collections = { count: 0 };
    const source: MemorySource = {
      residentBytes: () => resident,
      usedBytes: () => (isCollected ? leftBytes : usedBytes),
      collect() {
        isCollected = true;
        collections.count++;
      },
    };
    return { meter: new MemoryMeter(source), collections };
  }

  test('is resident memory, up to the threshold', () => {
    const { meter, collections } = processOf(100, 100, 1_000);
    assert.equal(meter.read(1_000, 1, 0), 1_000);
    assert.equal(collections.count, 0);
  });

  test('is memory in use above it, and nothing is collected if that is below the threshold', () => {
    const { meter, collections } = processOf(900, 100);
    assert.equal(meter.read(1_000, 1, 0), 900);
    assert.equal(collections.count, 0);
  });

  test('is what remains after a collection if it is above the threshold', () => {
    const { meter } = processOf(4_000, 300);
    assert.equal(meter.read(1_000, 1, 0), 300);
  });

  test('is that of all threads, assuming that the others use as much', () => {
    const { meter } = processOf(4_000, 300);
    assert.equal(meter.read(1_000, 4, 0), 1_200);
  });

  test('does not cause one collection after another', () => {
    const { meter, collections } = processOf(4_000, 2_000);
    for (let nowMs = 0; nowMs < 3_000; nowMs += 100) assert.equal(meter.read(1_000, 1, nowMs), 2_000);
    assert.equal(collections.count, 1);
    meter.read(1_000, 1, 3_000);
    assert.equal(collections.count, 2);
  });

  test('excludes garbage: a collection frees what is unreachable', async () => {
    const garbage = new WeakRef({});
    // A reference is kept until the end of the tick in which it was made.
    await new Promise(setImmediate);
    PROCESS_MEMORY.collect();
    assert.equal(garbage.deref(), undefined);
  });
});

test('a process whose event loop is blocked repeatedly rejects requests, stays alive, and recovers', async (t) => {
  const place = new Workplace(t, CONFIG.replace('loop_delay: off', 'loop_delay: 50ms'));
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
  // On a busy machine they are spread over several reports.
  const reports = () => serving.log.filter(({ msg }) => /refused in the last seconds/.test(msg));
  await until(() => reports().reduce((sum, { refused }) => sum + (refused as number), 0) >= 3);
  for (const { cause } of reports()) assert.equal(cause, 'loop_delay');
  assert.equal(await serving.stop(), 0);
});

test('a process that uses too much memory rejects requests while another is in flight', () =>
  // Less than this process uses: it is overloaded from its first sample on.
  withGateway({ config: { overload: { memory: '64mb' } } }, async (gateway) => {
    const held = Buffer.alloc(64 * 2 ** 20);
    const [holder, other] = [gateway.key(), gateway.key()];
    const release = gateway.upstream.followLater(answering(completion('hi')));
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
    release();
    assert.equal((await first).status, 200);

    gateway.upstream.follow(answering(completion('hi')));
    await until(async () => (await gateway.inFlight()) === 0);
    const next = await gateway.complete(other, chat());
    assert.equal(next.status, 200, 'a lone request is served, however much memory is used');
    assert.equal(ratesOf(next.headers).remainingRequests, 599);
    assert.ok(held.length > 0, 'kept until here');
  }));
