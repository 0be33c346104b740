/** The shortest request of every dialect and of every method of Google's, with its end user named in any place. */
import { readFileSync } from 'node:fs';
import { type ClientDialect, DIALECT_NAMES, DIALECT_PATHS } from '../../src/core/dialects.ts';
import { completion } from './answers.ts';
import type { Script } from './fake-upstream.ts';
import { formOf } from './forms.ts';
import type { GatewayOptions, Sending } from './gateway.ts';

/** Where a request can name its end user, the first that counts in front. */
export const USER_PLACES = ['X-Inf-Gw-User', 'safety_identifier', 'user', 'metadata.user_id'] as const;
export type UserPlace = (typeof USER_PLACES)[number];

/** Each token of input costs a million nanodollars, and output is free: a request costs the same in every dialect. */
const INPUT_TOKENS = 10;
const MODELS = {
  any: {
    ...{ upstream: 'vendor-any', input: 1000, output: 0, audio_input: 1000, audio_output: 0, image_input: 1000 },
    ...{ image_output: 0, max_output: 10, context_window: 100_000 },
  },
};
export const COST_NANOS = INPUT_TOKENS * 1_000_000;

type Fields = Readonly<Record<string, unknown>>;
type FormField = readonly [name: string, value: string | Buffer];

/** A request without its user, in JSON or as a form, and how its host answers. A text is a stream. */
interface Bare {
  readonly fields?: Fields;
  readonly form?: readonly FormField[];
  readonly answer: unknown;
}

/** Every dialect, and each method of Google's. */
export type Asked = Exclude<ClientDialect, 'gemini' | 'gemini_embeddings'> | GoogleMethod;
const GOOGLE_METHODS = [
  'generateContent',
  'streamGenerateContent',
  'embedContent',
  'batchEmbedContents',
  'countTokens',
] as const;
type GoogleMethod = (typeof GOOGLE_METHODS)[number];

export const ASKED: readonly Asked[] = [
  ...DIALECT_NAMES.filter((name) => name !== 'gemini' && name !== 'gemini_embeddings'),
  ...GOOGLE_METHODS,
];

export function isOfGoogle(asked: Asked): asked is GoogleMethod {
  return (GOOGLE_METHODS as readonly Asked[]).includes(asked);
}

/** A gateway before a host of every dialect but Google's, or before one of Google's. */
export function gatewayFor(host: 'openai' | 'google'): GatewayOptions {
  const dialects = DIALECT_NAMES.filter((name) => name !== 'gemini' && name !== 'gemini_embeddings');
  return { provider: host === 'google' ? { kind: 'gemini', models: MODELS } : { dialects, models: MODELS } };
}

const fixture = (name: string) => readFileSync(new URL(`../unit/wire/media/fixtures/${name}`, import.meta.url));
const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };
const SOUND: readonly FormField[] = [['file', fixture('0.5s.wav')]];
const PICTURE: readonly FormField[] = [
  ['image', fixture('40x30.png')],
  ['prompt', 'A blue square'],
];
const USAGE = { prompt_tokens: INPUT_TOKENS, completion_tokens: 1, total_tokens: INPUT_TOKENS + 1 };
const USAGE_BY_PARTS = { input_tokens: INPUT_TOKENS, output_tokens: 1, total_tokens: INPUT_TOKENS + 1 };
const IMAGES = { created: 1, data: [{ b64_json: 'AAAA' }], usage: USAGE_BY_PARTS };
const TRANSCRIPT = { text: 'Hi.', usage: { type: 'tokens', ...USAGE_BY_PARTS } };
const VECTOR = { values: [0.5] };
const GOOGLE_USAGE = {
  usageMetadata: {
    promptTokenCount: INPUT_TOKENS,
    candidatesTokenCount: 1,
    totalTokenCount: INPUT_TOKENS + 1,
  },
};
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
const CANDIDATES = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP', index: 0 }],
  ...GOOGLE_USAGE,
};
const CONTENT = { content: { parts: [{ text: 'Hi' }] } };

const BARE: Readonly<Record<Asked, Bare>> = {
  chat: { fields: MESSAGES, answer: completion('Hi.', { usage: USAGE }) },
  responses: {
    fields: { input: 'Hi', max_output_tokens: 5 },
    answer: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: USAGE_BY_PARTS },
  },
  messages: {
    fields: MESSAGES,
    answer: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: 'end_turn',
      usage: USAGE_BY_PARTS,
    },
  },
  embeddings: { fields: { input: 'Hi' }, answer: { object: 'list', data: [{ embedding: [1] }], usage: USAGE } },
  images: { fields: { prompt: 'A blue square' }, answer: IMAGES },
  image_edits: { form: PICTURE, answer: IMAGES },
  speech: {
    fields: { input: 'Hi', voice: 'alloy', stream_format: 'sse' },
    answer: `data: ${JSON.stringify({ type: 'speech.audio.done', usage: USAGE_BY_PARTS })}\n\n`,
  },
  transcriptions: { form: SOUND, answer: TRANSCRIPT },
  translations: { form: SOUND, answer: TRANSCRIPT },
  moderations: { fields: { input: 'Hi' }, answer: { id: 'm1', results: [{ flagged: false }], usage: USAGE } },
  rerank: {
    fields: { query: 'Hi', documents: ['Hi'] },
    answer: { results: [{ index: 0, relevance_score: 1 }], usage: { total_tokens: INPUT_TOKENS } },
  },
  generateContent: { fields: CONTENTS, answer: CANDIDATES },
  streamGenerateContent: { fields: CONTENTS, answer: `data: ${JSON.stringify(CANDIDATES)}\n\n` },
  embedContent: { fields: CONTENT, answer: { embedding: VECTOR, ...GOOGLE_USAGE } },
  batchEmbedContents: { fields: { requests: [CONTENT] }, answer: { embeddings: [VECTOR], ...GOOGLE_USAGE } },
  countTokens: { fields: CONTENTS, answer: { totalTokens: INPUT_TOKENS } },
};

/** Answers a request of this kind. */
export function answerOf(asked: Asked): Script {
  const { answer } = BARE[asked];
  if (typeof answer !== 'string') return (call) => call.answer(200, answer);
  return (call) => {
    call.stream();
    call.send(answer);
    call.end();
  };
}

export function pathOf(asked: Asked): string {
  return isOfGoogle(asked) ? `/v1beta/models/fake/any:${asked}` : `/v1${DIALECT_PATHS[asked]}`;
}

/** What is sent, with these names in their places. */
export async function sendingOf(
  asked: Asked,
  names: Partial<Readonly<Record<UserPlace, string>>>,
): Promise<Pick<Required<Sending>, 'method' | 'headers' | 'body'>> {
  const { fields, form } = BARE[asked];
  const { 'X-Inf-Gw-User': header, ...inBody } = names;
  const headers: Record<string, string> =
    header === undefined ? {} : { 'X-Inf-Gw-User': Buffer.from(header).toString('latin1') };
  const model = isOfGoogle(asked) ? {} : { model: 'fake/any' };
  if (form === undefined) {
    const { 'metadata.user_id': user_id, ...others } = inBody;
    const metadata = user_id === undefined ? {} : { metadata: { user_id } };
    return { method: 'POST', headers, body: JSON.stringify({ ...model, ...fields, ...others, ...metadata }) };
  }
  const named = Object.entries(inBody).map(([name, value]): FormField => [inForm(name), value]);
  const encoded = await formOf([...Object.entries(model), ...form, ...named]);
  return { method: 'POST', headers: { ...headers, ...encoded.headers }, body: encoded.body };
}

/** How OpenAI's clients write a field of an object in a form. */
function inForm(name: string): string {
  return name.replace(/\.(\w+)$/, '[$1]');
}
