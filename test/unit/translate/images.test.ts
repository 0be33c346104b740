/** Images that a model returns, between dialects: asking for them, getting them whole and in streams, their tokens, and past ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DialectName } from '../../../src/core/dialects.ts';
import { isObject } from '../../../src/core/json.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT, PNG, problemOf, translated } from './hosted.ts';

const DATA = 'iVBORw0KGgo=';
const PARTS = [{ text: 'A tree:' }, { inlineData: { mimeType: 'image/png', data: DATA } }, { text: 'Nice.' }];
const GOOGLE_ANSWER = {
  candidates: [{ index: 0, content: { role: 'model', parts: PARTS }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 20,
    promptTokensDetails: [
      { modality: 'AUDIO', tokenCount: 8 },
      { modality: 'IMAGE', tokenCount: 4 },
    ],
    cachedContentTokenCount: 5,
    cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 5 }],
    candidatesTokenCount: 1_300,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }],
    totalTokenCount: 1_320,
  },
};
const image = { type: 'image_url', image_url: { url: PNG } };
const CHAT_ANSWER = {
  choices: [{ index: 0, message: { content: 'A tree:', images: [image] }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 20,
    prompt_tokens_details: {
      audio_tokens: 8,
      image_tokens: 4,
      cached_tokens: 5,
      cached_tokens_details: { audio_tokens: 5 },
    },
    completion_tokens: 1_300,
    completion_tokens_details: { image_tokens: 1_290 },
  },
};

/** The answer to a client of one dialect by a host of another. */
function answered(from: DialectName, to: DialectName, answer: Fields): Fields {
  return translated(from, to, {}).response.answer(answer, CONTEXT);
}

/** The events of a stream: the data of each, but for the mark of the end. */
function streamed(from: DialectName, to: DialectName, ...events: readonly Fields[]): readonly Fields[] {
  const stream = translated(from, to, { stream: true }).response.stream(CONTEXT);
  const text = events.map((event) => stream.push(event)).join('') + stream.completion();
  return text.split(/\r?\n/).flatMap((line) => {
    const value: unknown = line.startsWith('data: {') ? JSON.parse(line.slice(6)) : undefined;
    return isObject(value) ? [value] : [];
  });
}

const listOf = (value: unknown) => (Array.isArray(value) ? (value as Fields[]) : []);
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((holder, key) => (holder as Record<string | number, unknown> | undefined)?.[key], value);

describe('a client of chat', () => {
  const shown = [{ ...image, index: 0 }];

  test('gets images in the field that hosts of chat have for them', () => {
    const message = at(answered('chat', 'gemini', GOOGLE_ANSWER), 'choices', 0, 'message') as Fields;
    assert.deepEqual([message.content, message.images], ['A tree:Nice.', shown]);
  });
  test('gets them in a stream', () => {
    const deltas = streamed('chat', 'gemini', GOOGLE_ANSWER).map((chunk) => at(chunk, 'choices', 0, 'delta') as Fields);
    assert.deepEqual(
      deltas.flatMap((delta) => listOf(delta?.images)),
      shown,
    );
  });
  test('reads how many tokens were audio and images', () => {
    assert.deepEqual(at(answered('chat', 'gemini', GOOGLE_ANSWER), 'usage'), {
      prompt_tokens: 20,
      completion_tokens: 1_300,
      total_tokens: 1_320,
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 0, audio_tokens: 8, image_tokens: 4 },
      completion_tokens_details: { image_tokens: 1_290 },
    });
  });
  test('asks for them at a host of Google, and gives them back', () => {
    const { fields } = translated('chat', 'gemini', {
      modalities: ['image', 'text'],
      messages: [
        { role: 'user', content: 'Draw.' },
        { role: 'assistant', content: 'A tree:', images: shown },
        { role: 'user', content: 'Bluer.' },
      ],
    });
    assert.deepEqual(fields.generationConfig, { responseModalities: ['IMAGE', 'TEXT'] });
    assert.deepEqual(at(fields, 'contents', 1), {
      role: 'model',
      parts: [
        { text: 'A tree:' },
        // A model from Gemini 3 on wants a signature of each image, which its client does not have.
        { inlineData: { mimeType: 'image/png', data: DATA }, thoughtSignature: 'skip_thought_signature_validator' },
      ],
    });
  });
  test('cannot ask for speech at a host of another dialect, or for images at one that makes none', () => {
    assert.match(problemOf('chat', 'gemini', { modalities: ['text', 'audio'] }), /^modalities: expected text or image/);
    for (const host of ['messages', 'converse'] as const) {
      assert.match(problemOf('chat', host, { modalities: ['image'] }), /^modalities: not translated/);
      const messages = [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '', images: shown },
      ];
      assert.match(problemOf('chat', host, { messages }), /^messages\[1\]\.images\[0\]/);
    }
  });
});

describe("a client of Google's dialect", () => {
  const inlineData = { mimeType: 'image/png', data: DATA };

  test('gets images as parts', () => {
    const parts = at(answered('gemini', 'chat', CHAT_ANSWER), 'candidates', 0, 'content', 'parts');
    assert.deepEqual(parts, [{ text: 'A tree:' }, { inlineData }]);
  });
  test('gets them in a stream', () => {
    const [{ message: delta } = {}] = CHAT_ANSWER.choices;
    const events = streamed('gemini', 'chat', { choices: [{ index: 0, delta, finish_reason: 'stop' }] });
    const parts = events.flatMap((event) => listOf(at(event, 'candidates', 0, 'content', 'parts')));
    assert.deepEqual(
      parts.filter((part) => part.inlineData !== undefined),
      [{ inlineData }],
    );
  });
  test('reads how many tokens were audio and images', () => {
    const { usageMetadata } = answered('gemini', 'chat', CHAT_ANSWER);
    assert.deepEqual(usageMetadata, {
      promptTokenCount: 20,
      candidatesTokenCount: 1_300,
      totalTokenCount: 1_320,
      cachedContentTokenCount: 5,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 8 },
        { modality: 'AUDIO', tokenCount: 8 },
        { modality: 'IMAGE', tokenCount: 4 },
      ],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 5 }],
      candidatesTokensDetails: [
        { modality: 'TEXT', tokenCount: 10 },
        { modality: 'IMAGE', tokenCount: 1_290 },
      ],
    });
  });
  test('asks for them at a host of chat, and gives them back', () => {
    const { fields } = translated('gemini', 'chat', {
      contents: [
        { role: 'user', parts: [{ text: 'Draw.' }] },
        { role: 'model', parts: [{ text: 'A tree:' }, { inlineData }] },
        { role: 'user', parts: [{ text: 'Bluer.' }] },
      ],
      generationConfig: { responseModalities: ['TEXT', 'Image'] },
    });
    assert.deepEqual(fields.modalities, ['text', 'image']);
    assert.deepEqual(at(fields, 'messages', 1), { role: 'assistant', content: 'A tree:', images: [image] });
  });
  test('cannot ask for speech, or set an image, at a host of another dialect', () => {
    const problem = (generationConfig: Fields) => problemOf('gemini', 'chat', { generationConfig });
    assert.match(
      problem({ responseModalities: ['AUDIO'] }),
      /^generationConfig\.responseModalities: expected text or image/,
    );
    assert.match(problem({ imageConfig: { aspectRatio: '1:1' } }), /^generationConfig\.imageConfig: not translated/);
  });
});

describe('a client of responses', () => {
  const item = (more: Fields = {}) => ({ type: 'image_generation_call', status: 'completed', result: DATA, ...more });

  test('gets images as items of their own, in their order', () => {
    const { output } = answered('responses', 'gemini', GOOGLE_ANSWER);
    assert.deepEqual(
      listOf(output).map(({ type, result, status }) => [type, result, status]),
      [
        ['message', undefined, 'completed'],
        ['image_generation_call', DATA, 'completed'],
        ['message', undefined, 'completed'],
      ],
    );
  });
  test('gets them in a stream, and again with its end', () => {
    const events = streamed('responses', 'gemini', GOOGLE_ANSWER);
    const drawn = events.filter((event) => at(event, 'item', 'type') === 'image_generation_call');
    assert.deepEqual(
      drawn.map((event) => [event.type, event.output_index, at(event, 'item', 'status'), at(event, 'item', 'result')]),
      [
        ['response.output_item.added', 1, 'in_progress', null],
        ['response.output_item.done', 1, 'completed', DATA],
      ],
    );
    assert.equal(at(events.at(-1), 'response', 'output', 1, 'result'), DATA);
  });
  test('gets the address of an image where its host has no data', () => {
    const url = 'https://images.example/a.png';
    const { output } = answered('responses', 'chat', {
      choices: [{ message: { images: [{ type: 'image_url', image_url: { url } }] }, finish_reason: 'stop' }],
    });
    assert.equal(at(output, 0, 'content', 0, 'text'), `![image](${url})`);
  });
  test('reads how many tokens were audio and images', () => {
    assert.deepEqual(at(answered('responses', 'gemini', GOOGLE_ANSWER), 'usage'), {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5, cache_write_tokens: 0, audio_tokens: 8, image_tokens: 4 },
      output_tokens: 1_300,
      output_tokens_details: { reasoning_tokens: 0, image_tokens: 1_290 },
      total_tokens: 1_320,
    });
  });
  test('asks for them, and gives them back', () => {
    const { fields } = translated('responses', 'gemini', {
      modalities: ['text', 'image'],
      input: [{ role: 'user', content: 'Draw.' }, item({ id: 'ig_1' }), { role: 'user', content: 'Bluer.' }],
    });
    assert.deepEqual(fields.generationConfig, { responseModalities: ['TEXT', 'IMAGE'] });
    assert.deepEqual(at(fields, 'contents', 1, 'parts', 0, 'inlineData'), { mimeType: 'image/png', data: DATA });
    const { fields: ofChat } = translated('responses', 'chat', {
      input: [{ role: 'user', content: 'Draw.' }, item({ id: 'ig_1' }), { role: 'user', content: 'Bluer.' }],
    });
    assert.deepEqual(at(ofChat, 'messages', 1), { role: 'assistant', content: null, images: [image] });
  });
});

test('an image that a model thinks of is not passed on', () => {
  const [text, drawn] = PARTS;
  const parts = [{ ...drawn, thought: true }, text, drawn];
  const answer = { candidates: [{ content: { parts }, finishReason: 'STOP' }] };
  assert.equal(listOf(at(answered('chat', 'gemini', answer), 'choices', 0, 'message', 'images')).length, 1);
});
