/** Figures as people read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  ago,
  blocks,
  bytes,
  count,
  dateTime,
  duration,
  exactUsd,
  inOneFormat,
  milliseconds,
  percent,
  price,
  short,
  usd,
  usdInColumn,
} from '../../../src/operator/format.ts';

const tables: Readonly<Record<string, readonly (readonly [shown: string, expected: string])[]>> = {
  'a count has its thousands apart': [
    [count(0), '0'],
    [count(999), '999'],
    [count(1_000), '1,000'],
    [count(1_234_567), '1,234,567'],
  ],
  'a short count takes five characters': [
    [short(0), '0'],
    [short(0.1), '0.1'],
    [short(8.04), '8.0'],
    [short(9.96), '10'],
    [short(12.5), '13'],
    [short(600), '600'],
    [short(9_999), '9,999'],
    [short(10_000), '10.0k'],
    [short(12_345), '12.3k'],
    [short(99_949), '99.9k'],
    [short(99_950), '100k'],
    [short(999_499), '999k'],
    [short(999_500), '1.0M'],
    [short(2_000_000), '2.0M'],
    [short(12_345_678), '12.3M'],
    [short(999_500_000), '1.0G'],
    [short(1e12), '1.0T'],
    [short(1e15), '1000T'],
  ],
  'an exact amount has its thousands apart and two decimals or more': [
    [exactUsd(0n), '0.00'],
    [exactUsd(1n), '0.000000001'],
    [exactUsd(-150_000n), '-0.000150'],
    [exactUsd(12_500_000_000n), '12.50'],
    [exactUsd(-1_234_500_000_001n), '-1,234.500000001'],
    [exactUsd(1_000_000_000_000_000_000n), '1,000,000,000.00'],
  ],
  'an amount has two decimals, and more only below a cent': [
    [usd(0n), '0.00'],
    [usd(1n), '0.000000001'],
    [usd(150_000n), '0.000150'],
    [usd(9_999_999n), '0.009999'],
    [usd(1_000n), '0.000001'],
    [usd(999n), '0.000000999'],
    [usd(10_000_000n), '0.01'],
    [usd(12_345_678n), '0.01'],
    [usd(999_999_999n), '0.99'],
    [usd(500_000_000n), '0.50'],
    [usd(1_000_000_000n), '1.00'],
    [usd(1_999_999_999n), '1.99'],
    [usd(1_234_567_890_000_000n), '1,234,567.89'],
    [usd(-1n), '-0.000000001'],
    [usd(-50_000_000n), '-0.05'],
    [usd(-2_500_000_000_000n), '-2,500.00'],
  ],
  'a duration has at most two units': [
    [duration(-5), '0s'],
    [duration(0), '0s'],
    [duration(0.9), '0s'],
    [duration(59.9), '59s'],
    [duration(60), '1m'],
    [duration(75), '1m15s'],
    [duration(3_600), '1h'],
    [duration(3_601), '1h'],
    [duration(3_660), '1h1m'],
    [duration(86_399), '23h59m'],
    [duration(86_400), '1d'],
    [duration(90_061), '1d1h'],
    [duration(400 * 86_400), '400d'],
  ],
  'amounts in a column have one form, and are never shown as nothing': [
    [usdInColumn(0n, 2), '0.00'],
    [usdInColumn(9_999_999n, 2), '<0.01'],
    [usdInColumn(-9_999_999n, 2), '-<0.01'],
    [usdInColumn(10_000_000n, 2), '0.01'],
    [usdInColumn(-10_000_000n, 2), '-0.01'],
    [usdInColumn(-1_500_000_000n, 2), '-1.50'],
    [usdInColumn(1_234_567_890_000_000n, 2), '1,234,567.89'],
    [usdInColumn(1_000_000_000_000_000_000n, 2), '1,000,000,000'],
    [usdInColumn(219_000n, 6), '0.000219'],
    [usdInColumn(999n, 6), '<0.000001'],
    [usdInColumn(12_800_000n, 6), '0.012800'],
    [usdInColumn(12_345_678_999n, 6), '12.345678'],
    [usdInColumn(1_234_567_890_000n, 6), '1,234.56    '],
    [usdInColumn(0n, 6), '0.000000'],
  ],
  'a price is exact, without needless zeros': [
    [price(0n), '0.00'],
    [price(75_000_000n), '0.075'],
    [price(1_125_000_000n), '1.125'],
    [price(2_500_000_000n), '2.50'],
    [price(150_000n), '0.00015'],
  ],
  'a share is never shown as none or all unless it is': [
    [percent(0), '0%'],
    [percent(0.000_1), '<1%'],
    [percent(0.01), '1%'],
    [percent(0.5), '50%'],
    [percent(0.995), '>99%'],
    [percent(1), '100%'],
  ],
  'a bar is drawn to an eighth of a column, and any share can be seen': [
    [blocks(0, 4), ''],
    [blocks(0.000_1, 4), '▏'],
    [blocks(1 / 32, 4), '▏'],
    [blocks(0.5, 4), '██'],
    [blocks(0.6, 4), '██▍'],
    [blocks(1, 4), '████'],
    [blocks(7, 4), '████'],
  ],
  'how long ago has one unit': [
    [ago(-3), '0s ago'],
    [ago(59), '59s ago'],
    [ago(3_599), '59m ago'],
    [ago(90_061), '1d ago'],
  ],
  'milliseconds turn into seconds from 1,000 on': [
    [milliseconds(undefined), '-'],
    [milliseconds(0), '0 ms'],
    [milliseconds(999), '999 ms'],
    [milliseconds(1_000), '1.0 s'],
    [milliseconds(61_250), '61.3 s'],
  ],
  'a time is in UTC, to the second': [[dateTime(Date.UTC(2026, 10, 1, 9, 5, 7, 999)), '2026-11-01 09:05:07']],
  'bytes are rounded up to KB, then to MB': [
    [bytes(0), '0 KB'],
    [bytes(1), '1 KB'],
    [bytes(1_048_575), '1024 KB'],
    [bytes(1_048_576), '1 MB'],
    [bytes(2 ** 31), '2,048 MB'],
  ],
};

for (const [what, rows] of Object.entries(tables)) {
  test(what, () => {
    for (const [shown, expected] of rows) assert.equal(shown, expected);
  });
}

test('the amounts of a column have two decimals, or six if one of them is below a cent', () => {
  assert.deepEqual(inOneFormat(['1,312.509999999', '-', '0.01', '0.00']), ['1,312.50', '-', '0.01', '0.00']);
  const six = ['12.500000', '0.000150', '-0.009999', '0.000000', '<0.000001', '-<0.000001', '+0.000001'];
  const exact = ['12.50', '0.000150', '-0.009999999', '0.00', '0.000000009', '-0.000000009', '+0.0000019'];
  assert.deepEqual(inOneFormat(exact), six);
});

describe('for any number', () => {
  test('the short count stays short, and is off by at most a twentieth', () => {
    const units: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 - 1 }), (number) => {
        const shown = short(number);
        assert.ok(shown.length <= 5, shown);
        const [, digits = '', unit = ''] = /^([\d,.]+)([kMGT]?)$/.exec(shown) ?? [];
        const value = Number(digits.replace(',', '')) * (units[unit] ?? 1);
        assert.ok(Math.abs(value - number) <= number / 20, `${number} as ${shown}`);
      }),
    );
  });

  test('an amount that is not zero is never shown as zero', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nanos) => {
        assert.equal(/^-?[0.]+$/.test(usd(nanos)), nanos === 0n);
        assert.equal(usd(nanos).startsWith('-'), nanos < 0n);
      }),
    );
  });
});
