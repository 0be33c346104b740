/** Backoffs: when the next request may be sent, after each sequence of events. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isOver,
  NO_BACKOFF,
  nextRequestMs,
  onRequestSent,
  onRetryAfter,
  onSuccess,
  PROBE_INTERVAL_MS,
} from '../../../src/upstream/backoff.ts';

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
