/** The price of a request as the journal keeps it, and as it is read again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PriceFacts, priceText } from '../../../src/catalog/price-text.ts';
import { readPriceText } from '../../../src/core/charged-price.ts';
import type { ToolSetting } from '../../../src/core/host-tools.ts';
import type { Prices } from '../../../src/core/model-terms.ts';
import { NO_PARTS } from '../../../src/core/usage.ts';
import { testModel } from '../../support/models.ts';
import { hostTool, setting, toolPrice } from '../../support/tools.ts';

const usd = (thousandths: number) => BigInt(thousandths) * 1_000_000n;
const MODEL = testModel('p/m', {
  input: usd(150),
  cachedInput: usd(75),
  output: usd(600),
  cacheWrite: usd(190),
  audioInput: usd(10_000),
  tools: new Map([
    ['web_search', toolPrice(usd(10))],
    [
      'shell',
      toolPrice(usd(30), { variants: [{ fields: new Map([['memory_limit', '4g']]), call: usd(120), tokens: 0 }] }),
    ],
  ]),
  above: { tokens: 1_000, input: usd(300), cachedInput: usd(150), output: usd(900) },
});
const FLEX = testModel('p/m', {
  ...MODEL,
  serviceTiers: new Map<string, Prices>([['flex', { ...MODEL, input: usd(70), above: undefined }]]),
});
const DATED = testModel('p/m', { ...MODEL, pricesOf: '2026-11-22' });

const calls = (name: string, ...settings: ToolSetting[]) => ({
  count: 1,
  of: [hostTool(name, { settings })],
  reported: {},
});

const TEXTS: readonly (readonly [model: typeof MODEL, facts: Partial<PriceFacts>, text: string])[] = [
  [MODEL, {}, '0.15/0.075/0.6'],
  [MODEL, { inputTokens: 1_000 }, '0.15/0.075/0.6'],
  [MODEL, { inputTokens: 1_001 }, '0.3/0.15/0.9 above=1000'],
  [MODEL, { requestedTier: 'default' }, '0.15/0.075/0.6'],
  [FLEX, { requestedTier: 'flex' }, '0.07/0.075/0.6 tier=flex'],
  [FLEX, { servedTier: 'flex' }, '0.07/0.075/0.6 tier=flex'],
  [FLEX, { requestedTier: 'flex', servedTier: 'default' }, '0.15/0.075/0.6'],
  [DATED, {}, '0.15/0.075/0.6 of=2026-11-22'],
  [DATED, { alias: 'fast=5' }, '0.15/0.075/0.6 of=2026-11-22 as=fast=5'],
  [MODEL, { parts: NO_PARTS }, '0.15/0.075/0.6'],
  [
    MODEL,
    { parts: { ...NO_PARTS, cacheWriteTokens: 1, audioInputTokens: 2 }, calls: [calls('web_search')] },
    '0.15/0.075/0.6 cache_write=0.19 audio_input=10 tools.web_search=0.01',
  ],
  [
    MODEL,
    { calls: [calls('shell', setting('memory_limit', '4g')), calls('shell'), calls('shell')] },
    '0.15/0.075/0.6 tools.shell(memory_limit:4g)=0.12 tools.shell=0.03',
  ],
];

describe('the price of a request', () => {
  for (const [model, facts, text] of TEXTS) {
    test(`is ${text}`, () => {
      const all = { requestedTier: undefined, inputTokens: 10, ...facts };
      assert.equal(priceText(model, all), text);
      assert.equal(priceText(model, all), text, 'the second time as well');
    });
  }

  test('is read again as it was', () => {
    assert.deepEqual(
      readPriceText(
        '0.3/0.15/0.9 tier=flex above=1000 cache_write=0.19 tools.web_search=0.01 units=3 of=2026-11-22 as=5',
      ),
      {
        input: usd(300),
        cachedInput: usd(150),
        output: usd(900),
        extras: [
          ['cache_write', usd(190)],
          ['tools.web_search', usd(10)],
        ],
        tier: 'flex',
        above: 1_000,
        units: 3,
        of: '2026-11-22',
        alias: '5',
        isFromCache: false,
      },
    );
    assert.partialDeepStrictEqual(readPriceText('0/0/0 cache=hit'), { input: 0n, extras: [], isFromCache: true });
    for (const text of ['', 'x', '1/2', '1/x/3']) assert.equal(readPriceText(text), undefined, text);
  });
});
