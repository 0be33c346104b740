/** What is charged for input that its host does not report, or not exactly: never less than it was held for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Media, NO_MEDIA } from '../../../src/core/modalities.ts';
import type { Prices } from '../../../src/core/model-terms.ts';
import { NO_PARTS, type TokenUsage } from '../../../src/core/usage.ts';
import type { ModelRequest } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { asHeld, readTokens, withLifetimes } from '../../../src/proxy/unreported.ts';
import { flatPrices } from '../../support/models.ts';

const USAGE: TokenUsage = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 100 };
const FLAT = flatPrices(10n);
const DEARER = { ...FLAT, cacheWrite: 12n, cacheWrite1h: 20n };

const HEARD = { hears: true };
const SEEN = { sees: true };

function held(prices: Prices, attachmentTokens: number, media: Partial<Media> = {}) {
  return { prices, attachmentTokens, media: { ...NO_MEDIA, ...media } };
}

function request(dialect: 'chat' | 'responses' | 'messages', more: Partial<ModelRequest>): ModelRequest {
  return { dialect: DIALECTS[dialect], cacheWrite: '5m', summarizesAbove: undefined, ...more } as ModelRequest;
}

describe('the usage of a request that nobody reports', () => {
  test('has all of its input written to a cache where that has a price of its own', () => {
    const written = { cacheWriteTokens: 1_000 };
    assert.deepEqual(asHeld(USAGE, request('responses', {}), held(DEARER, 0)).parts, { ...NO_PARTS, ...written });
    assert.equal(asHeld(USAGE, request('responses', {}), held(FLAT, 0)).parts, undefined);
    assert.deepEqual(asHeld(USAGE, request('messages', {}), held(FLAT, 0)).parts, { ...NO_PARTS, ...written });
    assert.equal(asHeld(USAGE, request('messages', { cacheWrite: undefined }), held(DEARER, 0)).parts, undefined);
  });
  test('has it written for long if the request asks for that', () => {
    const parts = { ...NO_PARTS, cacheWrite1hTokens: 1_000 };
    assert.deepEqual(asHeld(USAGE, request('responses', { cacheWrite: '1h' }), held(DEARER, 0)).parts, parts);
  });
  test('has its attachments at the price of audio where they may be that, and the rest written to a cache', () => {
    const spoken = { ...DEARER, audioInput: 40n };
    const parts = { ...NO_PARTS, audioInputTokens: 300, cacheWriteTokens: 700 };
    assert.deepEqual(asHeld(USAGE, request('chat', {}), held(spoken, 300, HEARD)).parts, parts);
    assert.equal(asHeld(USAGE, request('chat', {}), held(spoken, 5_000, HEARD)).parts?.audioInputTokens, 1_000);
    assert.equal(asHeld(USAGE, request('chat', {}), held(DEARER, 300, HEARD)).parts?.audioInputTokens, 0);
    assert.equal(asHeld(USAGE, request('chat', {}), held(spoken, 300)).parts?.audioInputTokens, 0);
  });
  test('has its attachments at the price of images where those are dearer', () => {
    const seen = { ...DEARER, audioInput: 20n, imageInput: 30n };
    const partsOf = (media: Partial<Media>) => asHeld(USAGE, request('chat', {}), held(seen, 300, media)).parts;
    assert.deepEqual(partsOf(SEEN), { ...NO_PARTS, imageInputTokens: 300, cacheWriteTokens: 700 });
    assert.equal(partsOf({ ...SEEN, ...HEARD })?.imageInputTokens, 300);
    assert.equal(partsOf(HEARD)?.imageInputTokens, 0);
  });
  test('has its input twice if the host may have summarized it', () => {
    const usage = asHeld(USAGE, request('responses', { summarizesAbove: 1_100 }), held(DEARER, 0));
    assert.deepEqual([usage.promptTokens, usage.parts?.cacheWriteTokens], [2_000, 2_000]);
    assert.equal(asHeld(USAGE, request('responses', { summarizesAbove: 1_300 }), held(FLAT, 0)).promptTokens, 1_000);
  });
});

test('a conversation that may reach the threshold is read twice, and an estimate may be a tenth below', () => {
  const above = request('messages', { summarizesAbove: 1_000 });
  assert.equal(readTokens(above, 500, 399), 500);
  assert.equal(readTokens(above, 500, 400), 1_000);
  assert.equal(readTokens(request('messages', {}), 500, Number.MAX_SAFE_INTEGER), 500);
});

describe('a report of what was written to a cache', () => {
  const reported = (parts: object): TokenUsage => ({ ...USAGE, parts: { ...NO_PARTS, ...parts } });
  const long = request('responses', { cacheWrite: '1h' });
  test('counts as written for long if it does not say, and the request asks for that', () => {
    const { parts } = withLifetimes(reported({ cacheWriteTokens: 7 }), long);
    assert.deepEqual(parts, { ...NO_PARTS, cacheWrite1hTokens: 7 });
  });
  test('stays as it is otherwise', () => {
    const said = reported({ cacheWriteTokens: 7, cacheWrite1hTokens: 2 });
    assert.equal(withLifetimes(said, long), said);
    const usual = reported({ cacheWriteTokens: 7 });
    assert.equal(withLifetimes(usual, request('responses', {})), usual);
    assert.equal(withLifetimes(usual, request('messages', { cacheWrite: '1h' })), usual);
    assert.equal(withLifetimes(USAGE, long), USAGE);
  });
});
