/**
 * Attacks in Google's dialect: whatever a request says, and in whatever spelling, its hold and its charge cover the bill of a
 * host that reads it as Google's does, or it is refused before anything is sent.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LEAST_ESTIMATE } from '../../src/catalog/cost.ts';
import { isObject } from '../../src/core/json.ts';
import type { Fields } from '../../src/dialects/dialect.ts';
import { tokensIn } from '../hostile/tokens.ts';
import { sharedGateway, type TestKey } from '../support/gateway.ts';
import { wavOf } from '../support/media.ts';

/** In nanodollars a token. */
const PRICES = { input: 1_000, audioInput: 3_000, output: 5_000, search: 10_000_000 };
const LONG = { tokens: 5_000, factor: 2 };
const usd = (nanos: number) => nanos / 1_000;
const gateway = await sharedGateway({
  provider: {
    kind: 'gemini',
    models: {
      all: {
        upstream: 'gemini-2.0-x',
        input: usd(PRICES.input),
        audio_input: usd(PRICES.audioInput),
        output: usd(PRICES.output),
        context_window: 100_000,
        max_output: 8_000,
        above: {
          tokens: LONG.tokens,
          input: usd(PRICES.input) * LONG.factor,
          output: usd(PRICES.output) * LONG.factor,
        },
        service_tiers: {
          priority: {
            input: usd(PRICES.input) * 3,
            audio_input: usd(PRICES.audioInput) * 3,
            output: usd(PRICES.output) * 3,
          },
        },
        tools: { google_search: PRICES.search / 1e9 },
      },
    },
  },
});

/** As Google's hosts read names, in either spelling; and as others may, in any mixture. */
function member(value: unknown, name: string): unknown {
  const loose = (written: string) => written.replaceAll('_', '').toLowerCase();
  return isObject(value) ? Object.entries(value).find(([key]) => loose(key) === loose(name))?.[1] : undefined;
}

/** Every text and name of a request counts, but for data; of sound, 32 tokens a second. */
function inputOf(value: unknown): { tokens: number; heard: number } {
  if (typeof value === 'string') return { tokens: tokensIn(value), heard: 0 };
  if (typeof value !== 'object' || value === null) return { tokens: 0, heard: 0 };
  const mime = String(member(value, 'mimeType') ?? '');
  if (mime.startsWith('audio/')) return { tokens: 0, heard: 64 };
  if (mime.startsWith('image/')) return { tokens: 258, heard: 0 };
  const parts = Object.entries(value).map(([, item]) => inputOf(item));
  return parts.reduce((sum, each) => ({ tokens: sum.tokens + each.tokens, heard: sum.heard + each.heard }), {
    tokens: 0,
    heard: 0,
  });
}

interface Bill {
  readonly usage: Fields;
  readonly nanos: number;
  readonly candidates: readonly Fields[];
}

/** The most that a host may make of a request: as much output as it allows, and a search if it may. */
function billOf(body: Fields): Bill {
  const config = member(body, 'generationConfig');
  const most = Math.min(Number(member(config, 'maxOutputTokens') ?? 300), 8_000);
  const answers = Number(member(config, 'candidateCount') ?? 1);
  const { tokens, heard } = inputOf(member(body, 'contents'));
  const tools = [member(body, 'tools')].flat();
  const searches = tools.filter((tool) => member(tool, 'googleSearch') !== undefined).length;
  const output = most * answers;
  const isLong = tokens + heard > LONG.tokens;
  const factor =
    (String(member(body, 'serviceTier')).toLowerCase() === 'priority' ? 3 : 1) * (isLong ? LONG.factor : 1);
  const spoken = factor * (tokens * PRICES.input + heard * PRICES.audioInput + output * PRICES.output);
  return {
    nanos: spoken + searches * PRICES.search,
    usage: {
      promptTokenCount: tokens + heard,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: heard }],
      // Thoughts are the greater part.
      candidatesTokenCount: 1,
      thoughtsTokenCount: output - 1,
      totalTokenCount: tokens + heard + output,
    },
    candidates: Array.from({ length: answers }, (_, index) => ({
      index,
      content: { role: 'model', parts: [{ text: 'x' }] },
      finishReason: 'STOP',
      ...(searches > 0 && { groundingMetadata: { webSearchQueries: ['a'] } }),
    })),
  };
}

const said = (...parts: readonly unknown[]) => ({ contents: [{ role: 'user', parts }] });
const HI = said({ text: 'Hi' });
const PROSE = 'The quick brown fox jumps over the lazy dog and runs into the woods. '.repeat(40);
const RUNES = 'ᚠᛇᚻ᛫ᛒᛦᚦ'.repeat(200);
const SOUND = wavOf(8_000, 2).toString('base64');

/** What follows `contents` in a body, as it is written. */
const written = (members: string) => `{"contents":[{"parts":[{"text":"Hi"}]}],${members}}`;

/** `isRefused`: it does not reach its host. */
const ATTACKS: readonly (readonly [what: string, body: Fields | string, isRefused?: true])[] = [
  ['a maximum', { ...HI, generationConfig: { maxOutputTokens: 8_000 } }],
  ['a maximum in the other spelling', { ...HI, generation_config: { max_output_tokens: 8_000 } }],
  ['a maximum in both spellings', { ...HI, generationConfig: { maxOutputTokens: 1, max_output_tokens: 8_000 } }, true],
  [
    'a maximum in the other spelling, with escapes',
    written('"generation\\u005fconfig":{"max\\u005foutput\\u005ftokens":8000,"candidate\\u005fcount":4}'),
  ],
  ['a maximum in a mixture of both', written('"generation_Config":{"max_outputTokens":8000}')],
  ['a maximum that stands twice', written('"generationConfig":{"maxOutputTokens":8000,"maxOutputTokens":1}'), true],
  [
    'two configurations',
    { ...HI, generationConfig: { maxOutputTokens: 1 }, generation_config: { maxOutputTokens: 8_000 } },
    true,
  ],
  ['several answers', { ...HI, generationConfig: { maxOutputTokens: 1_000, candidate_count: 8 } }],
  ['text in the place of a list', { contents: { parts: { text: PROSE } } }],
  ['text of rare letters', said({ text: RUNES })],
  [
    'text in the arguments of a call',
    {
      contents: [
        { role: 'model', parts: [{ function_call: { name: 'f', args: { mime_type: PROSE } } }] },
        ...HI.contents,
      ],
    },
  ],
  [
    'text in a response that looks like data',
    said({ functionResponse: { name: 'f', response: { inlineData: { mimeType: 'text/x', data: PROSE } } } }),
  ],
  ['text in a member that nobody knows', said({ text: 'Hi', my_own: { deep: [PROSE] } })],
  ['a long context', said({ text: PROSE.repeat(12) })],
  ['sound', said({ inline_data: { mime_type: 'audio/wav', data: SOUND } })],
  [
    'sound that a function returns',
    said({
      functionResponse: { name: 'f', response: {}, parts: [{ inlineData: { mimeType: 'audio/wav', data: SOUND } }] },
    }),
  ],
  ['an image', said({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } })],
  ['a search', { ...HI, tools: [{ googleSearch: {} }] }],
  ['a search in the other spelling, without a list', { ...HI, tools: { google_search: {} } }],
  ['a tier', { ...HI, service_tier: 'PRIORITY' }],
  ['a tool without a price', { ...HI, tools: { url_context: {} } }, true],
  ['a cache of the host', { ...HI, cached_content: 'cachedContents/x' }, true],
  ['a file of the host', said({ file_data: { file_uri: 'files/x', mime_type: 'image/png' } }), true],
  [
    'a film at an address',
    said({ fileData: { fileUri: 'https://m.youtube.com/watch.png', mimeType: 'image/png' } }),
    true,
  ],
  ['images as its answer', { ...HI, generation_config: { response_modalities: ['TEXT', 'IMAGE'] } }, true],
  ['images in another form', { ...HI, generationConfig: { responseFormat: [{ image: { imageSize: '4K' } }] } }, true],
  ['a model that it chooses', { ...HI, generationConfig: { routingConfig: { manualMode: { modelName: 'x' } } } }, true],
  [
    'a model by what it costs',
    { ...HI, generation_config: { model_config: { feature_selection_preference: 1 } } },
    true,
  ],
  ['the rest of another answer', { ...HI, continuation_token: 'AAAA' }, true],
  ['an answer in a store', { ...HI, output_config: { output_uri_prefix: 'gs://x' } }, true],
  ['an answer in a store by another name', { ...HI, generationOutputConfig: { outputUriPrefix: 'gs://x' } }, true],
  [
    'a resolution of its own',
    said({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' }, mediaResolution: { numTokens: 90_000 } }),
    true,
  ],
  ['text in the role of the instruction', { ...HI, systemInstruction: { role: PROSE, parts: [] } }, true],
  ['a field in upper case', { ...HI, GENERATION_CONFIG: { maxOutputTokens: 8_000 } }, true],
  ['a field in other letter case', { ...HI, generationCONFIG: { maxOutputTokens: 8_000 } }, true],
];

interface Sent {
  readonly status: number;
  readonly held: number;
  readonly bill: number;
}

async function send(key: TestKey, body: string, isStream: boolean): Promise<Sent> {
  let [held, bill] = [0, 0];
  gateway.upstream.follow((call) => {
    held = Number(gateway.heldNanos(key));
    const { usage, nanos, candidates } = billOf(JSON.parse(call.body));
    bill = nanos;
    const answer = { candidates, usageMetadata: usage, responseId: 'r' };
    if (!isStream) return call.answer(200, answer);
    call.stream();
    call.send(`data: ${JSON.stringify(answer)}\r\n\r\n`);
    return call.end();
  });
  const path = `/v1beta/models/fake/all:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
  const { status } = await gateway.post(path, key, body);
  return { status, held, bill };
}

describe('nobody pays less than the host bills', () => {
  for (const [what, fields, isRefused = false] of ATTACKS) {
    test(`for ${what}`, async () => {
      const body = typeof fields === 'string' ? fields : JSON.stringify(fields);
      for (const isStream of [false, true]) {
        const key = gateway.key();
        const { status, held, bill } = await send(key, body, isStream);
        const [row] = gateway.rows(key);
        if (isRefused) {
          assert.deepEqual([status, row], [400, undefined]);
          continue;
        }
        assert.equal(status, 200);
        assert.equal(row?.cost_nanos, bill);
        // Without a maximum of its own a request is held for the usual output.
        const isDeclared = /max_?output_?tokens/i.test(JSON.stringify(JSON.parse(body)));
        if (isDeclared) assert.ok(held >= LEAST_ESTIMATE * bill, `held ${held} for ${bill}`);
      }
    });
  }
});

test('a stream that thinks on without end is cut where the credit ends', async () => {
  const key = gateway.key({ spendLimitNanos: 2_000_000n });
  const thought = (tokens: number) =>
    `data: ${JSON.stringify({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hm. ', thought: true }] } }],
      usageMetadata: { promptTokenCount: 3, thoughtsTokenCount: tokens, totalTokenCount: 3 + tokens },
    })}\r\n\r\n`;
  gateway.upstream.follow(async (call) => {
    call.stream();
    for (let tokens = 50; tokens < 5_000; tokens += 50) call.send(thought(tokens));
    await call.closed;
  });
  const path = '/v1beta/models/fake/all:streamGenerateContent';
  const reply = await gateway.post(path, key, HI);
  assert.equal(JSON.parse(reply.text).at(-1).error.details[0].metadata.code, 'spend_limit_reached');
});
