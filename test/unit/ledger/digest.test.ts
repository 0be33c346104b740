/** The sum that gateways compare, also those of two versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Digest } from '../../../src/ledger/shared/digest.ts';

function sumOf(...values: readonly (number | bigint)[]): string {
  const digest = new Digest();
  digest.add(...values);
  return digest.text;
}

test('an amount has the same sum as a number and as a bigint', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeInteger()), (all) => assert.equal(sumOf(...all), sumOf(...all.map(BigInt)))),
  );
});

test('all 64 bits of an amount count, and the order of amounts', () => {
  const amounts = [0n, 1n, -1n, 2n ** 32n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 62n, -(2n ** 62n)];
  const all = [...amounts.map((amount) => sumOf(amount)), sumOf(1, 2), sumOf(2, 1)];
  assert.equal(new Set(all).size, all.length);
});

test('a sum is that of the versions before', () => {
  assert.equal(sumOf(1, 1_000_000_000_000_000n, -5, 2n ** 53n + 1n), 'b7a14a00');
});
