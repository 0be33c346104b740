/** What a gateway remembers of the requests that it refused: bounded, newest first, also over several threads. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mergedRefusals, mergedRefusedMinutes, type Refusal, Refusals } from '../../../src/observe/refusals.ts';

/** 1 November 2026, noon. */
const NOW_MS = Date.UTC(2026, 10, 1, 12);

function refusal(number: number, more: Partial<Refusal> = {}): Refusal {
  const names = { key_id: 'key_a', model: 'mock/echo', user: '', app: '' };
  const why = { code: 'rate_limited', reason: 'requests_per_minute', cause: '60 requests/min' };
  return { id: `req_${number}`, at_ms: NOW_MS + number * 1_000, ...names, ...why, ...more };
}

function kept(most: number, ...all: readonly Refusal[]): Refusals {
  const refusals = new Refusals(most);
  for (const each of all) refusals.add(each);
  return refusals;
}

const ids = (refusals: Refusals, query = {}) => refusals.page({ limit: 99, ...query }).rows.map(({ id }) => id);
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => refusal(from + i));

describe('the ring', () => {
  test('keeps the newest, and says from when on all are known', () => {
    for (const [number, expected] of [
      [2, ['req_1', 'req_0']],
      [3, ['req_2', 'req_1', 'req_0']],
      [5, ['req_4', 'req_3', 'req_2']],
      [6, ['req_5', 'req_4', 'req_3']],
    ] as const) {
      const refusals = kept(3, ...numbers(0, number));
      assert.deepEqual(ids(refusals), expected);
      const sinceMs = refusals.page({ limit: 1 }).since_ms;
      if (number > 3) assert.equal(sinceMs, NOW_MS + (number - 3) * 1_000);
      else assert.ok(sinceMs <= Date.now());
    }
  });

  test('finds by id, key and time', () => {
    const refusals = kept(9, ...numbers(0, 4), refusal(4, { key_id: 'key_b' }));
    assert.deepEqual(ids(refusals, { id: 'req_2' }), ['req_2']);
    assert.deepEqual(ids(refusals, { keyId: 'key_b' }), ['req_4']);
    assert.deepEqual(ids(refusals, { sinceMs: NOW_MS + 1_000, untilMs: NOW_MS + 3_000 }), ['req_2', 'req_1']);
  });

  test('ends a page only between two milliseconds, so that the next page leaves none out', () => {
    const same = [refusal(1), refusal(2, { at_ms: NOW_MS + 1_000 }), refusal(3, { at_ms: NOW_MS + 1_000 })];
    const page = kept(9, refusal(0), ...same).page({ limit: 2 });
    assert.deepEqual([page.rows.map(({ id }) => id), page.has_more], [['req_3', 'req_2', 'req_1'], true]);
    assert.equal(kept(9, ...same).page({ limit: 2 }).has_more, false);
  });
});

test('of several threads a page ends where the first of them has more to tell', () => {
  const busy = kept(9, ...numbers(10, 15)).page({ limit: 2 });
  const quiet = kept(9, refusal(1), refusal(14)).page({ limit: 2 });
  const { rows, has_more: hasMore } = mergedRefusals([busy, quiet]);
  assert.deepEqual([rows.map(({ id }) => id), hasMore], [['req_14', 'req_14', 'req_13'], true]);
  assert.equal(mergedRefusals([busy, quiet]).since_ms, Math.max(busy.since_ms, quiet.since_ms));
});

test('a key has its reasons of the last hour by minute, the most frequent first', () => {
  const at = (minutesAgo: number, reason: string, key = 'key_a') =>
    refusal(0, { at_ms: NOW_MS - minutesAgo * 60_000, reason, key_id: key });
  const one = kept(9, at(61, 'a'), at(59, 'a'), at(3, 'b'), at(3, 'b'), at(0, 'b'), at(0, 'c', 'key_b'));
  const [b, a, ...others] = one.minutesOf('key_a', NOW_MS);
  assert.deepEqual([b?.reason, a?.reason, others], ['b', 'a', []]);
  assert.deepEqual([b?.minutes.slice(-4), b?.first_at_ms], [[2, 0, 0, 1], NOW_MS - 180_000]);
  assert.deepEqual([a?.minutes[0], a?.minutes.length], [1, 60]);
  const [sum] = mergedRefusedMinutes([one.minutesOf('key_a', NOW_MS), kept(9, at(5, 'b')).minutesOf('key_a', NOW_MS)]);
  assert.deepEqual([sum?.minutes.slice(-6), sum?.first_at_ms], [[1, 0, 2, 0, 0, 1], NOW_MS - 300_000]);
});
