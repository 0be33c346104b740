/** Counts of the recent past: what keys were charged and refused, and why upstreams failed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { causeOf, type FailureReason } from '../../../src/core/failure.ts';
import { FailureCauses, mergedCauses, SHOWN_CAUSES } from '../../../src/observe/failure-causes.ts';
import {
  KeyMinutes,
  MAX_KEYS,
  MAX_REPORTED,
  MINUTE_STEPS,
  mergedKeyMinutes,
} from '../../../src/observe/key-minutes.ts';
import { RecentCounts } from '../../../src/observe/recent-counts.ts';

const NOW_S = 1_000_000;
const NOTHING = new Array(MINUTE_STEPS).fill(0);

describe('recent counts', () => {
  test('are those of the last steps, whatever the clock does', () => {
    const anyStep = fc.record({ waitS: fc.integer({ min: -20, max: 40 }), count: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
        const counts = new RecentCounts(4, 5);
        const expected: number[] = [];
        let nowS = NOW_S;
        let latest = 0;
        for (const { waitS, count } of steps) {
          nowS += waitS;
          latest = Math.max(latest, Math.floor(nowS / 5));
          expected[latest] = (expected[latest] ?? 0) + count;
          counts.add(nowS, count);
          const last = [3, 2, 1, 0].map((ago) => expected[latest - ago] ?? 0);
          assert.deepEqual(counts.values(nowS), last);
          assert.equal(
            counts.total(nowS),
            last.reduce((sum, each) => sum + each, 0),
          );
        }
      }),
    );
  });
});

describe('the minutes of keys', () => {
  test('are reported for those charged most, then refused most, and for those asked for', () => {
    const keys = new KeyMinutes();
    for (let number = 0; number < 2 * MAX_REPORTED; number++) {
      if (number % 2 === 0) keys.countSpent(`key_${number}`, BigInt(number + 1), NOW_S);
      else keys.countRefused(`key_${number}`, NOW_S);
    }
    keys.countSpent('key_free', 0n, NOW_S);
    const ids = (asked: readonly string[]) => keys.report(asked, NOW_S).map(({ keyId }) => keyId);
    const asked = ids(['key_1', 'key_unknown']);
    assert.deepEqual([asked.length, asked[0], asked[1], asked.at(-1)], [MAX_REPORTED + 1, 'key_1', 'key_98', 'key_0']);
    // Those that were charged are as many as are reported: one less, and a refused one is among them.
    const other = new KeyMinutes();
    for (let number = 1; number < MAX_REPORTED; number++) other.countSpent(`key_${number}`, 1n, NOW_S);
    other.countRefused('key_refused_once', NOW_S);
    for (let each = 0; each < 2; each++) other.countRefused('key_refused', NOW_S);
    assert.deepEqual(other.report([], NOW_S).at(-1), { keyId: 'key_refused', spentNanos: NOTHING, refused: 2 });
  });

  test('are kept for a bounded number of keys: those used last', () => {
    const keys = new KeyMinutes();
    for (let number = 0; number < MAX_KEYS; number++) keys.countRefused(`key_${number}`, NOW_S);
    keys.countRefused('key_0', NOW_S + 5);
    keys.countRefused('key_new', NOW_S + 5);
    const asked = ['key_0', 'key_1', 'key_2', 'key_new'];
    const known = new Map(keys.report(asked, NOW_S + 5).map(({ keyId, refused }) => [keyId, refused]));
    assert.deepEqual(
      asked.map((keyId) => known.get(keyId)),
      [2, undefined, 1, 1],
    );
  });

  test('are forgotten when they are over', () => {
    const keys = new KeyMinutes();
    keys.countSpent('key_1', 7n, NOW_S);
    const spentAfter = (seconds: number) => keys.report(['key_1'], NOW_S + seconds).map((each) => each.spentNanos[0]);
    assert.deepEqual([spentAfter(55), spentAfter(60), spentAfter(65)], [[7], [0], []]);
  });

  test('of several workers are added up', () => {
    const worker = (spent: bigint, refused: number) => {
      const keys = new KeyMinutes();
      keys.countSpent('key_1', spent, NOW_S);
      for (let each = 0; each < refused; each++) keys.countRefused('key_1', NOW_S + 5);
      return keys.report([], NOW_S + 5);
    };
    const sum = mergedKeyMinutes([worker(5n, 0), worker(7n, 3), []]).get('key_1');
    assert.deepEqual([sum?.spentNanos.slice(-2), sum?.refused], [[12, 0], 3]);
  });
});

describe('the causes of failures', () => {
  const failed = (causes: FailureCauses, cause: string, times: number, nowMs = NOW_S * 1000) => {
    for (let each = 1; each <= times; each++) causes.count({ cause, message: `${cause} ${each}` }, nowMs);
  };

  test('are those of the last hour, the most frequent first, with their last message', () => {
    const causes = new FailureCauses();
    failed(causes, '429', 2);
    failed(causes, '5xx', 3, NOW_S * 1000 + 1);
    assert.deepEqual(causes.all(NOW_S * 1000 + 2), [
      { cause: '5xx', count: 3, message: '5xx 3', at_ms: NOW_S * 1000 + 1 },
      { cause: '429', count: 2, message: '429 2', at_ms: NOW_S * 1000 },
    ]);
    assert.deepEqual(causes.all(NOW_S * 1000 + 3_600_000), []);
    assert.deepEqual(causes.last, { at_ms: NOW_S * 1000 + 1, message: '5xx 3' });
  });

  test('are eight at most, also over several workers', () => {
    const workers = [new FailureCauses(), new FailureCauses()];
    for (let status = 400; status < 412; status++) {
      for (const [index, worker] of workers.entries())
        failed(worker, String(status), status - 399, NOW_S * 1000 + index);
    }
    const parts = workers.map((worker) => worker.all(NOW_S * 1000));
    assert.deepEqual(
      parts.map(({ length }) => length),
      [SHOWN_CAUSES, SHOWN_CAUSES],
    );
    const merged = mergedCauses(parts);
    assert.deepEqual(
      [merged.length, merged[0]],
      [SHOWN_CAUSES, { cause: '411', count: 24, message: '411 12', at_ms: NOW_S * 1000 + 1 }],
    );
  });

  const groups: readonly (readonly [reason: FailureReason, status: number | undefined, cause: string])[] = [
    ['rejected', 429, '429'],
    ['rejected', 503, '5xx'],
    ['rejected', 529, '5xx'],
    ['http_status', 401, '401'],
    ['http_status', 500, '5xx'],
    ['not_connected', undefined, 'not_connected'],
    ['first_byte_timeout', undefined, 'first_byte_timeout'],
  ];
  for (const [reason, status, cause] of groups) {
    test(`group ${reason} ${status ?? 'without a status'} as ${cause}`, () => {
      assert.equal(causeOf({ reason, status }), cause);
    });
  }
});
