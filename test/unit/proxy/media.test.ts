/** The audio and images of a request at a model: whether an answer may hold images, and what the log reports of unpriced ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_MEDIA } from '../../../src/core/modalities.ts';
import { NO_PARTS, type UsageParts } from '../../../src/core/usage.ts';
import type { ModelRequest } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { mediaAt, tokensOfOneImage, tokensPerImageOf, unpricedNote } from '../../../src/proxy/media.ts';
import { flatPrices, testModel } from '../../support/models.ts';
import { hostTool } from '../../support/tools.ts';

const PRICES = flatPrices(1_000_000_000n);
const TEXT = testModel('p/text', PRICES);
const PRICED = testModel('p/priced', { ...PRICES, imageOutput: 5_000_000_000n });
const PAINTER = testModel('p/gemini-2.5-flash-image', PRICES);

function request(dialect: 'chat' | 'images' | 'embeddings', more: Partial<ModelRequest> = {}): ModelRequest {
  return { dialect: DIALECTS[dialect], asked: [], hostTools: [], ...more } as ModelRequest;
}
const ASKED = { asked: [{ modality: 'image', field: 'modalities' }] } as const;

describe('an answer may hold images', () => {
  const draws = (sent: ModelRequest, model = TEXT) => mediaAt(sent, model, NO_MEDIA).draws;
  test('where the request asks for them, the model returns them unasked, or the config has a price for them', () => {
    assert.deepEqual(
      [draws(request('chat', ASKED)), draws(request('chat'), PAINTER), draws(request('chat'), PRICED)],
      [true, true, true],
    );
  });
  test('not otherwise, and not where its dialect has none', () => {
    const others = [
      draws(request('chat')),
      draws(request('embeddings'), PRICED),
      draws(request('embeddings'), PAINTER),
    ];
    assert.deepEqual(others, [false, false, false]);
  });
});

test('an image that may be there is held for by the model that makes it, in dialects of text', () => {
  const tokens = (sent: ModelRequest, model = TEXT) => tokensOfOneImage(sent, model, mediaAt(sent, model, NO_MEDIA));
  assert.equal(tokens(request('chat'), PAINTER), 2_520);
  assert.equal(tokens(request('chat'), PRICED), 6_240);
  assert.equal(tokens(request('chat')), 0);
  assert.equal(tokens(request('images', ASKED), PRICED), 0);
});

test('an image of a tool is not counted, since its call has a price', () => {
  assert.equal(tokensPerImageOf(TEXT, request('chat')), 6_240);
  const drawn = request('chat', { hostTools: [hostTool('image_generation')] });
  assert.equal(tokensPerImageOf(TEXT, drawn), 0);
});

describe('the log reports tokens without a price', () => {
  const note = (parts: Partial<UsageParts>, model = TEXT, dialect: 'chat' | 'images' = 'chat') =>
    unpricedNote(
      { model, hosted: { request: request(dialect), response: undefined, ignored: [] } },
      {
        usage: { promptTokens: 9, cachedTokens: 0, completionTokens: 9, parts: { ...NO_PARTS, ...parts } },
        serviceTier: undefined,
      },
    );

  test('with the price that they were charged at, and the field to set', () => {
    assert.equal(
      note({ imageOutputTokens: 7 }),
      'the provider used tokens that have no price; they were charged at the dearest known one: 7 at 120.00 USD per million (set image_output)',
    );
  });
  test('but no others', () => {
    assert.equal(note({ audioInputTokens: 7 }), undefined);
    assert.equal(note({ imageOutputTokens: 7 }, PRICED), undefined);
    assert.equal(note({ imageOutputTokens: 7 }, testModel('p/free')), undefined);
    assert.equal(note({ imageOutputTokens: 7 }, TEXT, 'images'), undefined);
  });
});
