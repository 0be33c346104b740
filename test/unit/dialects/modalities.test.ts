/** Modalities: which answers a request asks for, and how reported tokens are split into text, audio and images. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UsageParts } from '../../../src/core/usage.ts';
import { readUsage as readChat } from '../../../src/dialects/chat/chat-answer.ts';
import { readUsage as readGemini } from '../../../src/dialects/gemini/gemini-answer.ts';
import { askedOf, MODALITIES_CHECK } from '../../../src/dialects/modalities.ts';
import { readResponse } from '../../../src/dialects/responses/responses-answer.ts';

describe('the modalities of a request', () => {
  for (const value of [undefined, [], ['text'], ['text', 'audio', 'image'], ['Image', 'TEXT']]) {
    test(`are known: ${JSON.stringify(value)}`, () => assert.equal(MODALITIES_CHECK(value, {}), undefined));
  }
  for (const value of ['image', {}, 1, ['video'], [null], [['image']]]) {
    test(`are refused: ${JSON.stringify(value)}`, () => {
      assert.equal(
        MODALITIES_CHECK(value, {}),
        'modalities: expected an array of text, audio or image; this gateway has no price for others',
      );
    });
  }
  test('are those besides text, each once, and audio where its format is set', () => {
    const audio = { modality: 'audio', field: 'modalities' };
    assert.deepEqual(askedOf({ modalities: ['text', 'Image', 'image'] }), [{ modality: 'image', field: 'modalities' }]);
    assert.deepEqual(askedOf({ modalities: ['audio'], audio: { voice: 'a' } }), [audio]);
    assert.deepEqual(askedOf({ audio: { voice: 'a' } }), [{ ...audio, field: 'audio' }]);
    assert.deepEqual(askedOf({ audio: null, modalities: null }), []);
  });
});

interface Reported {
  readonly what: string;
  readonly prompt?: number;
  readonly cached?: number;
  readonly read?: { readonly audio?: number; readonly image?: number };
  readonly ofCache?: { readonly audio?: number; readonly image?: number };
  readonly output?: number;
  readonly written?: { readonly audio?: number; readonly image?: number };
  readonly parts: Partial<UsageParts>;
}

const ROWS: readonly Reported[] = [
  {
    what: 'audio and images of the input',
    prompt: 100,
    read: { audio: 30, image: 20 },
    parts: { audioInputTokens: 30, imageInputTokens: 20 },
  },
  {
    what: 'audio and images of the output',
    output: 100,
    written: { audio: 30, image: 20 },
    parts: { audioOutputTokens: 30, imageOutputTokens: 20 },
  },
  {
    what: 'audio and images of the cache',
    prompt: 100,
    cached: 50,
    read: { audio: 40, image: 30 },
    ofCache: { audio: 25, image: 10 },
    parts: { audioInputTokens: 15, cachedAudioTokens: 25, imageInputTokens: 20, cachedImageTokens: 10 },
  },
  {
    what: 'what may be of the cache as not cached, as far as there is room',
    prompt: 100,
    cached: 80,
    read: { audio: 30, image: 60 },
    parts: { audioInputTokens: 20, cachedAudioTokens: 10, imageInputTokens: 0, cachedImageTokens: 60 },
  },
  {
    what: 'cached audio alone',
    prompt: 100,
    cached: 50,
    read: {},
    ofCache: { audio: 30 },
    parts: { cachedAudioTokens: 30 },
  },
  {
    what: 'no more than there is',
    prompt: 10,
    cached: 4,
    read: { audio: 900, image: 900 },
    ofCache: { audio: 900, image: 900 },
    output: 5,
    written: { audio: 900, image: 3 },
    parts: { audioInputTokens: 6, cachedAudioTokens: 4, audioOutputTokens: 2, imageOutputTokens: 3 },
  },
];

const ofOpenAi = ({ audio, image }: { readonly audio?: number; readonly image?: number } = {}) => ({
  ...(audio !== undefined && { audio_tokens: audio }),
  ...(image !== undefined && { image_tokens: image }),
});
const ofGoogle = ({ audio = 0, image = 0 }: { readonly audio?: number; readonly image?: number } = {}) => [
  { modality: 'TEXT', tokenCount: 7 },
  { modality: 'AUDIO', tokenCount: audio },
  { modality: 'IMAGE', tokenCount: image },
];

const READERS = {
  chat: ({ prompt = 1, cached = 0, read, ofCache, output = 0, written }: Reported) =>
    readChat({
      prompt_tokens: prompt,
      prompt_tokens_details: {
        cached_tokens: cached,
        ...ofOpenAi(read),
        ...(ofCache && { cached_tokens_details: ofOpenAi(ofCache) }),
      },
      completion_tokens: output,
      completion_tokens_details: ofOpenAi(written),
    }),
  responses: ({ prompt = 1, cached = 0, read, ofCache, output = 0, written }: Reported) =>
    readResponse({
      output: [],
      usage: {
        input_tokens: prompt,
        input_tokens_details: {
          cached_tokens: cached,
          ...ofOpenAi(read),
          ...(ofCache && { cached_tokens_details: ofOpenAi(ofCache) }),
        },
        output_tokens: output,
        output_tokens_details: ofOpenAi(written),
      },
    }).usage,
  gemini: ({ prompt = 1, cached = 0, read, ofCache, output = 0, written }: Reported) =>
    readGemini({
      promptTokenCount: prompt,
      cachedContentTokenCount: cached,
      promptTokensDetails: ofGoogle(read),
      ...(ofCache && { cacheTokensDetails: ofGoogle(ofCache) }),
      candidatesTokenCount: output,
      candidatesTokensDetails: ofGoogle(written),
    }),
};

for (const [dialect, read] of Object.entries(READERS)) {
  describe(`a report of ${dialect} has`, () => {
    for (const row of ROWS) {
      test(row.what, () => {
        const shown = Object.entries(read(row)?.parts ?? {}).filter(
          ([, value]) => typeof value === 'number' && value > 0,
        );
        const expected = Object.entries(row.parts).filter(([, value]) => value !== 0);
        assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(expected));
      });
    }
    test('no parts where all of it is text', () => {
      assert.equal(read({ what: '', prompt: 10, output: 3, parts: {} })?.parts, undefined);
    });
  });
}
