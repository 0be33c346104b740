/** Identifiers: their form, their order, and that they are unique. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../../../src/core/ids.ts';

/** 48 bits of milliseconds reach into the year 10889. */
const MAX_MS = 2 ** 48 - 1;

test('an id is its prefix, an underscore, and 26 characters of base 32', () => {
  assert.match(newId('req', Date.UTC(2026, 10, 21)), /^req_[0-9a-hjkmnp-tv-z]{26}$/);
});

test('ids sort by the milliseconds in which they were made', () => {
  const times = fc.nat({ max: MAX_MS });
  fc.assert(
    fc.property(times, times, (first, second) => {
      const [a, b] = [newId('x', first), newId('x', second)];
      if (first !== second) assert.equal(a < b, first < second);
    }),
  );
});

test('ids of one millisecond share their time but still differ', () => {
  const count = 20_000;
  const ids = Array.from({ length: count }, () => newId('req', 1_000_000));
  assert.equal(new Set(ids).size, count);
  assert.equal(new Set(ids.map((id) => id.slice(0, 'req_'.length + 10))).size, 1);
});

test('a fraction of a millisecond does not change the form', () => {
  assert.equal(newId('req', 1234.75).slice(0, 14), newId('req', 1234).slice(0, 14));
});
