/** What the mock answers where it does not write: rankings, judgements and images. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { imageSize } from '../../../src/wire/media/image-size.ts';
import { audioSeconds } from '../../../src/wire/media/sound-length.ts';
import { answerTo, eventsOf, play } from './mock-script.ts';

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
    assert.ok(Math.abs((audioSeconds(steps[0]?.bytes as Buffer) ?? 0) - 6 * 0.05) < 0.01);
    const events = eventsOf(play('speech', 'Hello!', { stream_format: 'sse' }));
    assert.deepEqual(
      events.map(({ name }) => name),
      ['speech.audio.delta', 'speech.audio.done'],
    );
  });

  test('hears what the prompt says, streamed or not', () => {
    assert.equal(answerTo('transcriptions', 'one two').text, answerTo('translations', 'one two').text);
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
