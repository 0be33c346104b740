/** Backoffs: when the next request may be sent after each sequence of events, and how models and whole upstreams recover. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Attempt } from '../../../src/upstream/attempt.ts';
import {
  isOver,
  NO_BACKOFF,
  nextRequestMs,
  onRequestSent,
  onRetryAfter,
  onSuccess,
  PROBE_INTERVAL_MS,
} from '../../../src/upstream/backoff.ts';
import { LAST_RESORT_MAX_UNAVAILABLE } from '../../../src/upstream/choice.ts';
import { Bench, callFor, meet } from './bench.ts';

const P = PROBE_INTERVAL_MS;
const HOUR = 3_600_000;

type Event =
  | readonly [atMs: number, what: 'retry_after', durationMs: number]
  | readonly [atMs: number, what: 'sent']
  /** The success of a request that was sent at `sentAtMs`. */
  | readonly [atMs: number, what: 'success', sentAtMs: number];

const ROWS: readonly (readonly [name: string, events: readonly Event[], nextMs: number, untilMs: number])[] = [
  ['nothing has happened', [], 0, 0],
  ['a short backoff: its end', [[10, 'retry_after', 1_000]], 1_010, 1_010],
  ['a long one: a probe', [[10, 'retry_after', HOUR]], 10 + P, 10 + HOUR],
  [
    'a shorter one after it: a probe after the last',
    [
      [10, 'retry_after', HOUR],
      [20, 'retry_after', 1],
    ],
    20 + P,
    10 + HOUR,
  ],
  [
    'a longer one after it',
    [
      [10, 'retry_after', 1],
      [20, 'retry_after', HOUR],
    ],
    20 + P,
    20 + HOUR,
  ],
  [
    'a request during it',
    [
      [10, 'retry_after', HOUR],
      [10 + P, 'sent'],
    ],
    10 + 2 * P,
    10 + HOUR,
  ],
  [
    'a request after it',
    [
      [10, 'retry_after', 1_000],
      [2_000, 'sent'],
    ],
    1_010,
    1_010,
  ],
  [
    'a request near its end',
    [
      [10, 'retry_after', P + 1],
      [10 + P, 'sent'],
    ],
    11 + P,
    11 + P,
  ],
  [
    'the success of a probe',
    [
      [10, 'retry_after', HOUR],
      [10 + P, 'sent'],
      [20 + P, 'success', 10 + P],
    ],
    0,
    0,
  ],
  [
    'the success of an earlier request',
    [
      [10, 'retry_after', HOUR],
      [20, 'success', 5],
    ],
    10 + P,
    10 + HOUR,
  ],
  [
    'the success of a request sent before the last Retry-After',
    [
      [10, 'retry_after', HOUR],
      [20, 'sent'],
      [30, 'retry_after', HOUR],
      [40, 'success', 20],
    ],
    30 + P,
    30 + HOUR,
  ],
];

describe('the next request after', () => {
  for (const [name, events, nextMs, untilMs] of ROWS) {
    test(name, () => {
      let backoff = NO_BACKOFF;
      for (const [atMs, what, ms] of events) {
        if (what === 'retry_after') backoff = onRetryAfter(backoff, ms, atMs);
        else backoff = what === 'sent' ? onRequestSent(backoff, atMs) : onSuccess(backoff, ms);
      }
      assert.deepEqual([nextRequestMs(backoff), backoff.untilMs], [nextMs, untilMs]);
      assert.deepEqual([isOver(backoff, untilMs), isOver(backoff, untilMs - 1)], [true, false]);
    });
  }
});

describe('a backoff', () => {
  test('after 429 applies to the model, and others are still served', async () => {
    const bench = new Bench([1]);
    await bench.visit([429, 4], { model: 'a' });
    assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.member().state], [undefined, 'p#1', 'backing_off']);
    assert.deepEqual([bench.provider.waitMs('a'), bench.provider.waitMs('b')], [4_000, 0]);
    bench.nowMs += 3_999;
    assert.equal(bench.picked('a'), undefined);
    bench.nowMs += 1;
    assert.deepEqual([bench.picked('a'), bench.member().state], ['p#1', 'closed']);
  });

  for (const status of [503, 529]) {
    test(`after ${status} applies to the whole upstream`, async () => {
      const bench = new Bench([1, 1]);
      await bench.visit([status, 7], { model: 'a' });
      assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.member().state], ['p#2', 'p#2', 'backing_off']);
      assert.equal(bench.provider.waitMs('a'), 0, 'the other one is available at once');
      bench.nowMs += 7_000;
      assert.equal(bench.member().state, 'closed');
    });
  }

  for (const status of [429, 503]) {
    test(`after ${status} is not shortened by a later one`, async () => {
      const bench = new Bench([1]);
      await bench.visit([status, 4]);
      await bench.visit([status, 1]);
      bench.nowMs += 3_000;
      assert.equal(bench.picked(), undefined);
      bench.nowMs += 1_000;
      assert.equal(bench.picked(), 'p#1');
    });

    for (const count of [1, 3 * LAST_RESORT_MAX_UNAVAILABLE]) {
      test(`of an hour after ${count} answers of ${status} lets one request through every few seconds`, async () => {
        const bench = new Bench([1]);
        await bench.visits(count, [status, 3_600]);
        for (let probe = 0; probe < 3; probe++) {
          bench.nowMs += PROBE_INTERVAL_MS - 1;
          assert.deepEqual([bench.picked(), bench.provider.waitMs('m')], [undefined, 1]);
          bench.nowMs += 1;
          assert.equal(bench.provider.waitMs('m'), 0);
          const sent = bench.ask();
          assert.deepEqual([sent?.name, bench.picked()], ['p#1', undefined], 'one request');
          meet(sent?.attempt as Attempt, [status, 3_600]);
          await turn();
          assert.equal(bench.isLastResort(), count === 1);
        }
      });
    }

    test(`after ${status} ends with the success of a probe`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE, [status, 3_600]);
      bench.nowMs += PROBE_INTERVAL_MS;
      await bench.visit(200);
      assert.deepEqual([bench.picked(), bench.member().state, bench.provider.waitMs('m')], ['p#1', 'closed', 0]);
    });

    test(`after ${status} does not end with a probe that the upstream finds invalid`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE, [status, 3_600]);
      bench.nowMs += PROBE_INTERVAL_MS;
      await bench.visit(400);
      assert.deepEqual([bench.picked(), bench.member().state], [undefined, 'backing_off']);
    });
  }

  test('of a model ends with the success of a probe for that model alone', async () => {
    const bench = new Bench([1]);
    for (const model of ['a', 'b']) await bench.visit([429, 3_600], { model });
    bench.nowMs += PROBE_INTERVAL_MS - 1;
    for (const model of ['a', 'c']) await bench.visit(200, { model });
    assert.deepEqual([bench.picked('a'), bench.picked('b')], ['p#1', undefined]);
  });

  test('is probed next to an upstream that is available, and gets its share again after a success', async () => {
    const bench = new Bench([1, 1]);
    await bench.visit([503, 3_600]);
    const served = async (count: number) => {
      const names: (string | undefined)[] = [];
      for (let i = 0; i < count; i++) {
        const sent = bench.ask();
        meet(sent?.attempt as Attempt, 200);
        names.push(sent?.name);
        await turn();
      }
      return names.filter((name) => name === 'p#1').length;
    };
    assert.equal(await served(20), 0);
    bench.nowMs += PROBE_INTERVAL_MS;
    assert.equal(await served(20), 10);
  });

  test('lasts as long as the upstream asked for, however often: it is no failure', async () => {
    const bench = new Bench([1]);
    await bench.visits(3 * LAST_RESORT_MAX_UNAVAILABLE, [503, 1]);
    assert.deepEqual([bench.isLastResort(), bench.provider.waitMs('m')], [false, 1_000]);
    bench.nowMs += 1_000;
    assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'closed']);
  });

  test('does not start with any other status', async () => {
    const bench = new Bench([1]);
    for (const status of [200, 400, 500, 502]) await bench.visit([status, 60]);
    assert.equal(bench.picked(), 'p#1');
  });

  test('of one model after another never blocks a third, however many requests are rejected at once', async () => {
    const bench = new Bench([1]);
    for (const model of ['a', 'b']) await bench.visits(3 * LAST_RESORT_MAX_UNAVAILABLE, [429, 60], { model });
    assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.picked('c')], [undefined, undefined, 'p#1']);
    assert.deepEqual([bench.isLastResort('a'), bench.isLastResort('c')], [false, true]);
  });

  test('is not ended by the response to an earlier request', async () => {
    const bench = new Bench([1]);
    const early = bench.member().attempt(callFor('m'));
    await bench.visit([429, 7]);
    meet(early, 200);
    await turn();
    assert.equal(bench.picked(), undefined);
    assert.ok(bench.isLastResort(), 'the rejections are no longer in a row');
  });
});
