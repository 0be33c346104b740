/** What the mock provider answers where it does not write: vectors, rankings, judgements and images. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import { imageSize } from '../../../src/wire/media/image-size.ts';
import { soundLength } from '../../../src/wire/media/sound-length.ts';
import { answerTo, eventsOf, type Json, play } from './mock-script.ts';

const vectorsOf = (input: unknown, fields: Json = {}) =>
  (answerTo('embeddings', '', { input, ...fields }).data as Json[]).map(({ embedding }) => embedding as number[]);

test('an answer has one vector for each input', () => {
  const { data, ...answer } = answerTo('embeddings', '', { input: ['one', 'two'] });
  const { usage, ...head } = answer;
  assert.deepEqual(head, { object: 'list', model: 'mock/echo' });
  assert.deepEqual(
    (data as Json[]).map(({ embedding: _, ...item }) => item),
    [
      { object: 'embedding', index: 0 },
      { object: 'embedding', index: 1 },
    ],
  );
  const { prompt_tokens: prompt, ...others } = usage as Json;
  assert.ok((prompt as number) > 0);
  assert.deepEqual(others, { total_tokens: prompt });
});

test('a vector depends on its input alone, and has length 1', () => {
  const [one, two] = vectorsOf(['one', 'two']);
  assert.deepEqual(vectorsOf('one'), [one]);
  assert.deepEqual(vectorsOf(['x', 'one'])[1], one);
  assert.notDeepEqual(one, two);
  assert.notDeepEqual(vectorsOf(''), vectorsOf(' '));
  for (const vector of [one, two, ...vectorsOf('one', { dimensions: 300 })]) {
    const squares = vector?.map((number) => number ** 2) ?? [];
    assert.ok(Math.abs(squares.reduce((sum, square) => sum + square, 0) - 1) < 1e-6);
  }
});

test('it has as many numbers as requested, or 8', () => {
  const lengths = (fields: Json) => vectorsOf(['one', 'two'], fields).map(({ length }) => length);
  assert.deepEqual(lengths({}), [8, 8]);
  assert.deepEqual(lengths({ dimensions: null }), [8, 8]);
  assert.deepEqual(lengths({ dimensions: 3 }), [3, 3]);
  assert.deepEqual(lengths({ dimensions: 3_072 }), [3_072, 3_072]);
});

test('tokens are one input, arrays of tokens several', () => {
  assert.equal(vectorsOf([1, 2, 3]).length, 1);
  assert.equal(vectorsOf([[1, 2], [3]]).length, 2);
  assert.deepEqual(vectorsOf([[1, 2]]), vectorsOf([1, 2]));
});

test('OpenAI’s library reads both formats as the same numbers', async () => {
  const formats: unknown[] = [];
  const client = new OpenAI({
    apiKey: 'x',
    fetch: async (_, init) => {
      const body = JSON.parse(String(init?.body)) as Json;
      formats.push(body.encoding_format);
      return new Response(play('embeddings', '', body).text, { headers: { 'content-type': 'application/json' } });
    },
  });
  const input = ['one', 'two'];
  const read = async (format: object) =>
    (await client.embeddings.create({ model: 'mock/echo', input, dimensions: 5, ...format })).data.map(
      ({ embedding }) => embedding,
    );
  const [unasked, floats] = [await read({}), await read({ encoding_format: 'float' })];
  assert.deepEqual(formats, ['base64', 'float']);
  assert.deepEqual(unasked, floats);
  assert.deepEqual(floats, vectorsOf(input, { dimensions: 5 }));
});

test('what a host would refuse is 400', () => {
  const refused = (fields: Json) => {
    const { status, text } = play('embeddings', 'x', fields);
    return status === 400 ? JSON.parse(text).error.message : status;
  };
  assert.match(refused({ dimensions: 1_000_001 }), /^dimensions: expected at most 1000000 numbers/);
  assert.match(refused({ input: Array.from({ length: 2_000 }, () => 'x'), dimensions: 501 }), /not 1002000$/);
  assert.match(refused({ encoding_format: 'int8' }), /^encoding_format: expected float or base64$/);
});

test('the directives for errors, waits and broken answers work, in any input', () => {
  assert.equal(play('embeddings', 'a /error 429 b').status, 429);
  assert.equal(play('embeddings', '', { input: ['a', '/error 503'] }).status, 503);
  assert.equal(play('embeddings', '/delay 2s').delayMs, 2_000);
  assert.equal(play('embeddings', '/cut 1').steps.at(-1)?.ending, 'break');
  assert.equal(play('embeddings', '/stall 1').steps.at(-1)?.ending, 'silence');
  assert.equal(answerTo('embeddings', '/no-usage').usage, undefined);
  assert.equal(play('embeddings', '/words 9 /pace 1s').steps[0]?.afterMs, 0);
});

describe('the mock provider', () => {
  test('ranks documents by the words that they have in common with the query', () => {
    const { results, meta } = answerTo('rerank', 'red fox', { documents: ['a dog', 'a red fox', 'a fox'], top_n: 2 });
    assert.deepEqual(results, [
      { index: 1, relevance_score: 1 },
      { index: 2, relevance_score: 0.5 },
    ]);
    assert.partialDeepStrictEqual(meta, { billed_units: { search_units: 1 } });
  });

  test('flags nothing', () => {
    const { results } = answerTo('moderations', 'Hello!', { input: ['a', 'b'] }) as { results: { flagged: boolean }[] };
    assert.deepEqual(
      results.map(({ flagged }) => flagged),
      [false, false],
    );
  });

  test('draws squares that can be opened', () => {
    const { data } = answerTo('images', 'a square', { n: 2 }) as { data: { b64_json: string }[] };
    assert.deepEqual(
      data.map(({ b64_json }) => imageSize(Buffer.from(b64_json, 'base64'))?.width),
      [16, 16],
    );
  });

  test('draws in a stream, too', () => {
    const events = eventsOf(play('images', 'a square', { stream: true, partial_images: 2 }));
    assert.deepEqual(
      events.map(({ name }) => name),
      ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'],
    );
  });

  test('hums what it is given to say', () => {
    const { contentType, steps } = play('speech', 'Hello!');
    assert.equal(contentType, 'audio/wav');
    assert.ok(Math.abs((soundLength(steps[0]?.bytes as Buffer)?.seconds ?? 0) - 6 * 0.05) < 0.01);
    const events = eventsOf(play('speech', 'Hello!', { stream_format: 'sse' }));
    assert.deepEqual(
      events.map(({ name }) => name),
      ['speech.audio.delta', 'speech.audio.done'],
    );
  });

  test('hears what the prompt says, streamed or not', () => {
    assert.equal(answerTo('transcriptions', 'one two').text, answerTo('translations', 'one two').text);
    const verbose = answerTo('transcriptions', 'one two', { response_format: 'verbose_json' });
    assert.deepEqual(
      [verbose.duration, verbose.segments],
      [1, [{ id: 0, start: 0, end: 1, text: ` ${verbose.text}` }]],
    );
    const events = eventsOf(play('transcriptions', '/words 2', { stream: true }));
    assert.deepEqual(
      events.map(({ name }) => name),
      ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'],
    );
  });

  for (const dialect of [
    ...(['rerank', 'moderations', 'images', 'image_edits', 'speech', 'transcriptions', 'translations'] as const),
  ]) {
    test(`fails on demand: ${dialect}`, () => assert.equal(play(dialect, '/error 503').status, 503));
  }
});
