/** What one key may have in reading, and how long it waits after large bodies that were refused. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  type BodyInReading,
  BodyLimiter,
  FULL_BODIES_IN_READING,
  FULL_BODIES_UNPAID,
  LARGE_BODY_BYTES,
  MIN_BODIES_IN_READING,
  UNPAID_BYTES_PER_SECOND,
} from '../../../src/http/body-limiter.ts';

const MAX = 8 * LARGE_BODY_BYTES;
const BOUNDS = { concurrency: 60, maxBodyBytes: MAX };

let nowMs = 0;
let limiter: BodyLimiter;
beforeEach(() => {
  nowMs = 1_000;
  limiter = new BodyLimiter(() => nowMs);
});

/** Begins to read a body of a key; returns the reason why it may not be read, or the body. */
function begin(key: string, bytes: number, bounds = BOUNDS): BodyInReading | string {
  const body = limiter.open(key, bounds);
  const refusal = body.grow(bytes);
  if (refusal === undefined) return body;
  assert.equal(refusal.error.code, 'rate_limited');
  body.close();
  return refusal.reason;
}

const isRead = (begun: BodyInReading | string) => typeof begun !== 'string';

describe('a key may have in reading', () => {
  test('four bodies of the maximum size, and another one once one of them was read', () => {
    const begun = Array.from({ length: FULL_BODIES_IN_READING }, () => begin('a', MAX));
    assert.ok(begun.every(isRead));
    assert.equal(begin('a', 1), 'bodies_in_reading');
    assert.ok(isRead(begin('b', MAX)), 'other keys are not affected');
    (begun[0] as BodyInReading).close();
    assert.ok(isRead(begin('a', MAX)));
    assert.equal(begin('a', 1), 'bodies_in_reading');
  });

  test('as many bytes in bodies of unknown length, which are refused when they pass the bound', () => {
    const bodies = Array.from({ length: 10 }, () => begin('a', 0) as BodyInReading);
    const bound = (FULL_BODIES_IN_READING * MAX) / bodies.length;
    for (const body of bodies) assert.equal(body.grow(Math.floor(bound)), undefined);
    assert.equal(bodies[0]?.grow(Math.floor(bound)), undefined, 'nothing has been added');
    assert.equal(bodies[0]?.grow(bound + LARGE_BODY_BYTES)?.error.retryAfterS, 1);
  });

  test('bodies of a small maximum size up to their number, not four of them', () => {
    const bounds = { concurrency: 60, maxBodyBytes: 4_000 };
    const begun = Array.from({ length: MIN_BODIES_IN_READING }, () => begin('a', 4_000, bounds));
    assert.ok(begun.every(isRead));
  });

  const counts = [
    { concurrency: 1, bodies: MIN_BODIES_IN_READING },
    { concurrency: 60, bodies: 120 },
    { concurrency: 1_000, bodies: 2_000 },
  ];
  for (const { concurrency, bodies } of counts) {
    test(`${bodies} small bodies at a time, if it may have ${concurrency} requests in flight`, () => {
      const bounds = { ...BOUNDS, concurrency };
      const begun = Array.from({ length: bodies }, () => begin('a', 10, bounds));
      assert.ok(begun.every(isRead));
      assert.equal(begin('a', 10, bounds), 'bodies_in_reading');
      assert.equal((begun[0] as BodyInReading).grow(20), undefined, 'those in reading are read on');
    });
  }
});

describe('after large bodies that cost their key nothing', () => {
  const refuse = (bytes: number) => limiter.countUnpaid('a', bytes);
  const FREE = FULL_BODIES_UNPAID * MAX;

  test('of two times the maximum size the next one is still read', () => {
    for (let i = 0; i < FULL_BODIES_UNPAID; i++) refuse(MAX);
    assert.ok(isRead(begin('a', MAX)));
  });

  test('beyond that, large ones wait for exactly as long as Retry-After says, and small ones do not', () => {
    refuse(FREE + 3 * UNPAID_BYTES_PER_SECOND);
    const body = limiter.open('a', BOUNDS);
    assert.deepEqual([body.grow(LARGE_BODY_BYTES), body.grow(LARGE_BODY_BYTES + 1)?.error.retryAfterS], [undefined, 3]);
    body.close();
    assert.ok(isRead(begin('b', MAX)), 'other keys are not affected');
    nowMs += 2_999;
    assert.equal(begin('a', MAX), 'refused_bodies');
    nowMs += 1;
    assert.ok(isRead(begin('a', MAX)));
  });

  test('small ones never count', () => {
    for (let i = 0; i < 1_000; i++) refuse(LARGE_BODY_BYTES);
    assert.ok(isRead(begin('a', MAX)));
  });
});
