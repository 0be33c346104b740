/** Retries: which statuses allow them, what bounds them, and how long an upstream backs off. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  fullBudget,
  isRejection,
  MAX_BACKOFF_MS,
  MAX_SAVED_RETRIES,
  onRequest,
  onRetry,
  parseRetryAfter,
  retryAfterOf,
} from '../../../src/upstream/retry.ts';

test('only 429, 503 and 529 mean that the upstream rejected the request', () => {
  const statuses = Array.from({ length: 500 }, (_, i) => 100 + i);
  assert.deepEqual(statuses.filter(isRejection), [429, 503, 529]);
});

/**
 * Makes requests, retries each of them up to `perRequest` times within the budget, and counts the
 * retries.
 */
function retriesOf(gapsMs: readonly number[], budgetShare: number, perRequest: number): number {
  const policy = { attempts: 10, budget: budgetShare };
  let nowMs = 5_000;
  let budget = fullBudget(nowMs);
  let retries = 0;
  for (const gap of gapsMs) {
    nowMs += gap;
    budget = onRequest(budget, policy, nowMs);
    for (let i = 0; i < perRequest; i++) {
      const left = onRetry(budget, policy);
      if (left === undefined) break;
      budget = left;
      retries++;
    }
  }
  return retries;
}

describe('the retry budget', () => {
  test('over any period is a share of the requests, plus one per second, plus ten once', () => {
    const gaps = fc.array(
      fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 9_000 })),
      {
        maxLength: 300,
      },
    );
    const share = fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100);
    fc.assert(
      fc.property(gaps, share, fc.integer({ min: 1, max: 9 }), (gapsMs, budget, perRequest) => {
        const seconds = gapsMs.reduce((sum, gap) => sum + gap, 0) / 1000;
        const most = budget * gapsMs.length + seconds + MAX_SAVED_RETRIES;
        const retries = retriesOf(gapsMs, budget, perRequest);
        assert.ok(retries <= most + 1e-6, `${retries} retries where ${most} are the most`);
      }),
    );
  });

  test('lets a gateway with few requests retry each of them', () => {
    assert.equal(retriesOf(Array(50).fill(1_000), 0.2, 1), 50);
  });

  test('of 20% allows one retry for five requests in a long outage, plus the ten saved ones', () => {
    assert.equal(retriesOf(Array(1_000).fill(0), 0.2, 2), 10 + 199);
  });

  test('of 100% doubles the load of an outage, and no more', () => {
    assert.equal(retriesOf(Array(1_000).fill(0), 1, 9), 10 + 999);
  });

  test('of 0% allows no retry, not even at first or after a long pause', () => {
    assert.equal(retriesOf([0, 1_000_000, 0], 0, 9), 0);
  });

  test('does not grow when the clock stands still or goes back', () => {
    const policy = { attempts: 3, budget: 0.5 };
    const spent = { saved: 0, atMs: 9_000 };
    assert.deepEqual(onRequest(spent, policy, 9_000), { saved: 0.5, atMs: 9_000 });
    assert.deepEqual(onRequest(spent, policy, 1_000), { saved: 0.5, atMs: 9_000 });
  });
});

const NOW = Date.UTC(2026, 10, 21, 8, 0, 0);
const inSeconds = (seconds: number) => new Date(NOW + seconds * 1000).toUTCString();

const RETRY_AFTERS: readonly (readonly [retryAfter: string | undefined, ms: number | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  ['   ', undefined],
  ['1', 1_000],
  ['07', 7_000],
  [' 20 ', 20_000],
  ['0.5', 500],
  ['12.75', 12_750],
  ['0', undefined],
  ['0.0', undefined],
  ['-3', undefined],
  ['+3', undefined],
  ['.5', undefined],
  ['5.', undefined],
  ['1,5', undefined],
  ['2026-11-21', undefined],
  ['7s', undefined],
  ['soon', undefined],
  ['NaN', undefined],
  ['Infinity', undefined],
  ['1, 2', undefined],
  ['3600', MAX_BACKOFF_MS],
  ['3601', MAX_BACKOFF_MS],
  ['9'.repeat(400), MAX_BACKOFF_MS],
  [inSeconds(30), 30_000],
  [inSeconds(86_400), MAX_BACKOFF_MS],
  [inSeconds(0), undefined],
  [inSeconds(-30), undefined],
];

describe('Retry-After of an upstream', () => {
  for (const [retryAfter, ms] of RETRY_AFTERS) {
    test(`${JSON.stringify(retryAfter)?.slice(0, 40)} is ${ms === undefined ? 'no backoff' : `${ms} ms`}`, () => {
      assert.equal(parseRetryAfter(retryAfter, NOW), ms);
    });
  }

  const IN_MS: readonly (readonly [header: string | undefined, headerMs: string, ms: number | undefined])[] = [
    ['1', '20', 20],
    [undefined, '1500.5', 1_501],
    ['1', '0.0001', 1],
    [undefined, '9'.repeat(12), MAX_BACKOFF_MS],
    ['7', '0', 7_000],
    ['7', '-1', 7_000],
    ['7', '1e3', 7_000],
    ['7', '9'.repeat(13), 7_000],
    ['7', 'soon', 7_000],
    ['7', '', 7_000],
  ];
  for (const [header, headerMs, ms] of IN_MS) {
    test(`${header} with ${JSON.stringify(headerMs)} in milliseconds is ${ms} ms`, () => {
      assert.equal(parseRetryAfter(retryAfterOf(header, headerMs), NOW), ms);
    });
  }

  test('is between nothing and an hour, whatever it says', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.date().map(String), fc.double().map(String)), (text) => {
        for (const header of [text, retryAfterOf(undefined, text)]) {
          const ms = parseRetryAfter(header, NOW);
          assert.ok(ms === undefined || (ms > 0 && ms <= MAX_BACKOFF_MS), `${ms}`);
        }
      }),
    );
  });
});
