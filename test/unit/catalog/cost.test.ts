/** What requests cost by every kind of price, and that a hold covers whatever a request may turn out to cost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expectedCost, hasPriceFor, pricesFor, usageCost } from '../../../src/catalog/cost.ts';
import type { Prices } from '../../../src/core/model-terms.ts';
import { NO_PARTS, type TokenUsage, type UsageParts } from '../../../src/core/usage.ts';
import { flatPrices, testModel } from '../../support/models.ts';
import { hostTool, toolPrice } from '../../support/tools.ts';

const USD = 1_000_000_000n;
/** Every price is another, in USD per million tokens, so that a wrong one shows. */
const PRICES: Prices = {
  input: 10n * USD,
  cachedInput: 1n * USD,
  output: 40n * USD,
  cacheWrite: 12n * USD,
  cacheWrite1h: 15n * USD,
  tools: new Map([['web_search', toolPrice(7_000n, { tokens: 100 })]]),
  audioInput: 30n * USD,
  cachedAudioInput: 3n * USD,
  audioOutput: 80n * USD,
  imageInput: 50n * USD,
  imageOutput: 90n * USD,
  above: { tokens: 1_000, input: 20n * USD, cachedInput: 2n * USD, output: 60n * USD },
};
/** A price in USD per million is as many thousand nanodollars per token. */
const thousands = (usd: number) => BigInt(usd) * 1_000n;

const usage = (fields: Partial<TokenUsage>, parts?: Partial<UsageParts>): TokenUsage => ({
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  ...fields,
  ...(parts && { parts: { ...NO_PARTS, ...parts } }),
});

const COSTS: readonly (readonly [what: string, usage: TokenUsage, nanos: bigint])[] = [
  ['input', usage({ promptTokens: 5 }), thousands(50)],
  ['cached input', usage({ promptTokens: 5, cachedTokens: 4 }), thousands(10 + 4)],
  ['output', usage({ completionTokens: 5 }), thousands(200)],
  ['input written to the cache', usage({ promptTokens: 5 }, { cacheWriteTokens: 3 }), thousands(20 + 36)],
  ['input written to the cache for an hour', usage({ promptTokens: 5 }, { cacheWrite1hTokens: 3 }), thousands(20 + 45)],
  ['audio input', usage({ promptTokens: 5 }, { audioInputTokens: 2 }), thousands(30 + 60)],
  ['audio output', usage({ completionTokens: 5 }, { audioOutputTokens: 4 }), thousands(40 + 320)],
  [
    'audio and images of the cache, which have no discount of their own',
    usage({ promptTokens: 9, cachedTokens: 9 }, { cachedAudioTokens: 2, cachedImageTokens: 3 }),
    thousands(4 + 2 * 3 + 3 * 50),
  ],
  [
    'images',
    usage({ promptTokens: 5, completionTokens: 5 }, { imageInputTokens: 2, imageOutputTokens: 4 }),
    thousands(30 + 100 + 40 + 360),
  ],
  // Above 1,000 tokens all input costs twice as much, and so does what is written to the cache.
  [
    'long input that is written for an hour',
    usage({ promptTokens: 2_000 }, { cacheWrite1hTokens: 2_000 }),
    thousands(2_000 * 30),
  ],
  ['as much input as has the ordinary prices', usage({ promptTokens: 1_000 }), thousands(10_000)],
  [
    'a long context, all of it',
    usage({ promptTokens: 1_001, cachedTokens: 1, completionTokens: 2 }),
    thousands(20_000 + 2 + 120),
  ],
];

describe('the cost of', () => {
  for (const [what, used, nanos] of COSTS) test(what, () => assert.equal(usageCost(PRICES, used), nanos));
});

describe('audio and images without a price cost', () => {
  const plain: Prices = { ...flatPrices(10n * USD, 40n * USD), audioInput: undefined, cachedAudioInput: undefined };
  const spoken = usage(
    { promptTokens: 2, cachedTokens: 1, completionTokens: 2 },
    { audioInputTokens: 1, cachedAudioTokens: 1 },
  );
  const drawn = usage({ completionTokens: 2 }, { imageOutputTokens: 2 });

  test('what they cost at the dearest model that is known, since nobody asked for them', () => {
    assert.equal(usageCost(plain, spoken), thousands(2 * 40 + 2 * 40));
    assert.equal(usageCost(plain, drawn), thousands(2 * 120));
  });
  test('what other output does where that is dearer', () => {
    assert.equal(usageCost({ ...plain, output: 200n * USD }, drawn), thousands(2 * 200));
  });
  test('nothing at a model that costs nothing', () => {
    assert.equal(usageCost({ ...flatPrices(0n), audioInput: undefined }, spoken), 0n);
    assert.equal(usageCost(flatPrices(0n), drawn), 0n);
  });
});

describe('the prices of a service tier', () => {
  const priority = flatPrices(7n);
  const model = testModel('p/m', { ...flatPrices(5n), serviceTiers: new Map([['priority', priority]]) });
  const ordinary = 5n;

  const ROWS: readonly (readonly [requested: string | undefined, served: string | undefined, input: bigint])[] = [
    [undefined, undefined, ordinary],
    ['auto', 'default', ordinary],
    ['priority', undefined, 7n],
    ['priority', 'priority', 7n],
    // The host did not have it, and says so.
    ['priority', 'default', ordinary],
    ['auto', 'priority', 7n],
    // A name that the config does not know says nothing about the price.
    ['priority', 'turbo', 7n],
    ['auto', 'turbo', ordinary],
  ];
  for (const [requested, served, input] of ROWS) {
    test(`requested ${requested}, served ${served}`, () => {
      assert.equal(pricesFor(model, requested, served).input, input);
    });
  }

  test('are there for auto, default and those of the config alone', () => {
    const tiers = [undefined, 'auto', 'default', 'priority', 'flex', '', '__proto__'];
    assert.deepEqual(
      tiers.map((tier) => hasPriceFor(model, tier)),
      [true, true, true, true, false, false, false],
    );
  });
});

test('a hold covers a request of its size, whatever kinds its tokens turn out to be', () => {
  const tokens = fc.nat({ max: 3_000 });
  fc.assert(
    fc.property(
      tokens,
      tokens,
      tokens,
      tokens,
      tokens,
      tokens,
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom('5m', '1h'),
      fc.nat({ max: 12 }),
      (input, output, a, b, c, d, isSound, isImage, cacheWrite, calls) => {
        const cachedTokens = Math.min(a, input);
        const written = Math.min(b, input - cachedTokens);
        const fresh = Math.min(c, input - cachedTokens - written);
        const made = Math.min(d, output);
        const media = { hears: isSound, sees: isImage, speaks: isSound, draws: isImage };
        const writes = cacheWrite === '5m' ? { cacheWriteTokens: written } : { cacheWrite1hTokens: written };
        const parts = {
          ...writes,
          ...(isSound && { audioInputTokens: fresh, cachedAudioTokens: cachedTokens, audioOutputTokens: made }),
          // Where a request may hold both, it is dearest as the one.
          ...(isImage && !isSound && { imageInputTokens: fresh, imageOutputTokens: made }),
        };
        const found = calls * 100;
        const used = usage({ promptTokens: input + found, cachedTokens, completionTokens: output }, parts);
        const search = hostTool('web_search', { calls });
        assert.ok(
          expectedCost(PRICES, input, output, { ...media, cacheWrite, hostTools: [search] }) >=
            usageCost(PRICES, used, [{ count: calls, of: [search], reported: {} }]),
        );
      },
    ),
  );
});
