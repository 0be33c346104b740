/** Rates: averages over the last complete seconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rates, ratesOf } from '../../../src/control/rates.ts';

const NOW_S = 1_000_000;

/** A second some time ago, in which that many requests ended. */
function ago(seconds: number, requests: number, cost = '0.00') {
  return { at_s: NOW_S - seconds, requests, tokens: requests * 10, cost_usd: cost, errors: {}, first_byte: [] };
}

const NOTHING: Rates = { requestsPerS: 0, tokensPerS: 0, usdPerMin: '0.00' };

type Case = readonly [what: string, seconds: ReturnType<typeof ago>[], spanS: number, expected: Rates];
const CASES: readonly Case[] = [
  ['nothing is nothing', [], 10, NOTHING],
  ['a second that is not over does not count', [ago(0, 50, '1.00')], 10, NOTHING],
  ['nor does one that is too long ago', [ago(11, 50, '1.00')], 10, NOTHING],
  [
    'the first and the last of the span do',
    [ago(10, 20), ago(1, 10)],
    10,
    { ...NOTHING, requestsPerS: 3, tokensPerS: 30 },
  ],
  [
    'seconds in which nothing happened count as nothing',
    [ago(5, 1)],
    10,
    { ...NOTHING, requestsPerS: 0.1, tokensPerS: 1 },
  ],
  ['money is by the minute', [ago(3, 0, '0.50'), ago(2, 0, '0.25')], 60, { ...NOTHING, usdPerMin: '0.75' }],
  ['also over a shorter span', [ago(3, 0, '0.50')], 10, { ...NOTHING, usdPerMin: '3.00' }],
  ['and over a longer one', [ago(100, 0, '1.00')], 120, { ...NOTHING, usdPerMin: '0.50' }],
  ['to the nanodollar', [ago(1, 0, '0.000000001')], 60, { ...NOTHING, usdPerMin: '0.000000001' }],
];

for (const [what, seconds, spanS, expected] of CASES) {
  test(what, () => {
    for (const withinMs of [0, 999]) assert.deepEqual(ratesOf(seconds, NOW_S * 1_000 + withinMs, spanS), expected);
  });
}
