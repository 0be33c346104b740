/** Money: how amounts are parsed and formatted, and how costs are rounded. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  costRoundedUp,
  formatUsd,
  MAX_NANOS,
  NANOS_PER_USD,
  parseUsd,
  tokenPriceRoundedUp,
  usdRoundedUp,
} from '../../../src/core/money.ts';

const READ: readonly (readonly [text: string, nanos: bigint])[] = [
  ['0', 0n],
  ['0.0', 0n],
  ['000.10', 100_000_000n],
  ['1', NANOS_PER_USD],
  ['12.5', 12_500_000_000n],
  ['0.000000001', 1n],
  ['0.000150', 150_000n],
  ['25.123456789', 25_123_456_789n],
  ['1000000000', MAX_NANOS],
  ['1000000000.000000000', MAX_NANOS],
];

const NOT_READ: readonly string[] = [
  '',
  ' ',
  '.',
  '.5',
  '5.',
  '-1',
  '+1',
  '1e3',
  '1,5',
  '1_000',
  '0x10',
  ' 1',
  '1 ',
  '1\n',
  '$1',
  '1.0000000001',
  '1000000000.000000001',
  '1000000001',
  '99999999999',
  'NaN',
  'Infinity',
  '１',
];

const WRITTEN: readonly (readonly [nanos: bigint, text: string])[] = [
  [0n, '0.00'],
  [1n, '0.000000001'],
  [10n, '0.00000001'],
  [150_000n, '0.000150'],
  [100_000n, '0.000100'],
  [1_000_000n, '0.001000'],
  [10_000_000n, '0.01'],
  [123_000_000n, '0.123000'],
  [500_000_000n, '0.50'],
  [NANOS_PER_USD, '1.00'],
  [12_500_000_000n, '12.50'],
  [-12_500_000_000n, '-12.50'],
  [-1n, '-0.000000001'],
  [MAX_NANOS, '1000000000.00'],
];

const amounts = fc.bigInt({ min: 0n, max: MAX_NANOS });

describe('an amount in USD', () => {
  for (const [text, nanos] of READ) {
    test(`${JSON.stringify(text)} parses as ${nanos} nanodollars`, () => assert.equal(parseUsd(text), nanos));
  }

  for (const text of NOT_READ) {
    test(`${JSON.stringify(text)} is not an amount`, () => assert.equal(parseUsd(text), undefined));
  }

  for (const [nanos, text] of WRITTEN) {
    test(`${nanos} nanodollars are formatted as ${text}`, () => assert.equal(formatUsd(nanos), text));
  }

  test('parses back to itself after formatting', () => {
    fc.assert(fc.property(amounts, (nanos) => parseUsd(formatUsd(nanos)) === nanos));
  });

  test('has two to nine decimals, and a minus sign if negative', () => {
    fc.assert(
      fc.property(amounts, (nanos) => {
        assert.match(formatUsd(nanos), /^\d+\.\d{2,9}$/);
        if (nanos > 0n) assert.equal(formatUsd(-nanos), `-${formatUsd(nanos)}`);
      }),
    );
  });
});

const priced = fc.record({
  tokens: fc.nat({ max: 1_000_000_000 }),
  nanosPerMillion: fc.bigInt({ min: 0n, max: 1_000n * NANOS_PER_USD }),
});

describe('a cost', () => {
  test('is the exact sum rounded up to the next nanodollar', () => {
    fc.assert(
      fc.property(fc.array(priced, { maxLength: 4 }), (parts) => {
        const millionths = parts.reduce((sum, part) => sum + BigInt(part.tokens) * part.nanosPerMillion, 0n);
        const cost = costRoundedUp(parts) * 1_000_000n;
        assert.ok(cost >= millionths, 'rounded down');
        assert.ok(cost < millionths + 1_000_000n, 'rounded up by a nanodollar or more');
      }),
    );
  });

  test('is rounded once, not once for each part', () => {
    const third = { tokens: 1, nanosPerMillion: 333_333n };
    assert.equal(costRoundedUp([third]), 1n);
    assert.equal(costRoundedUp([third, third, third]), 1n);
    assert.equal(costRoundedUp([third, third, third, third]), 2n);
  });

  test('of no tokens, or at a price of zero, is zero', () => {
    assert.equal(costRoundedUp([]), 0n);
    assert.equal(costRoundedUp([{ tokens: 0, nanosPerMillion: 5n }]), 0n);
    assert.equal(costRoundedUp([{ tokens: 5, nanosPerMillion: 0n }]), 0n);
  });
});

for (const [nanos, text] of [
  [503_733_000n, '0.51'],
  [40n, '0.00000004'],
  [1n, '0.000000001'],
  [99_000_001n, '0.10'],
  [12_345_000_000n, '13.00'],
] as const) {
  test(`a message that names ${nanos} nanodollars says ${text}`, () => assert.equal(usdRoundedUp(nanos), text));
}

const TOKEN_PRICES: readonly (readonly [text: string, usdPerMillion: string | undefined])[] = [
  ['1.5e-07', '0.15'],
  ['1.50E-7', '0.15'],
  ['0.00000015', '0.15'],
  ['2.5000000000000002e-06', '2.50'],
  ['2.4999999999999998e-06', '2.50'],
  ['5.46875e-07', '0.546875'],
  ['1.4285714285e-07', '0.142857143'],
  ['1e-30', '0.000000001'],
  ['0.0', '0.00'],
  ['-1e-6', '-1.00'],
  ['1000', '1000000000.00'],
  ['1000.1', undefined],
  ['1e9999', undefined],
  ['NaN', undefined],
  ['', undefined],
  ['.5', undefined],
  ['0x1', undefined],
];

test('a price a token becomes one a million, exact or rounded up', () => {
  for (const [text, expected] of TOKEN_PRICES) {
    const nanos = tokenPriceRoundedUp(text);
    assert.equal(nanos === undefined ? undefined : formatUsd(nanos), expected, text);
  }
});
