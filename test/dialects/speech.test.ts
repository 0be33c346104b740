/** `POST /v1/audio/speech`: sound passes unchanged, and is charged by what is said or by the token. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { sharedGateway, type TestKey, UPSTREAM_KEY } from '../support/gateway.ts';
import { adtsFrame, quietFlac } from '../support/sound-files.ts';

/** A character costs 15,000 nanodollars; a token of text 1,000, of sound 10,000. */
const gateway = await sharedGateway({
  provider: {
    models: {
      reader: { upstream: 'tts-1', per: { character: 0.000015 } },
      chinese: { per: { character_han_twice: 0.000015 } },
      bytes: { per: { byte: 0.000015 } },
      actor: { input: 1, output: 2, audio_output: 10, max_output: 500 },
      talker: { input: 1, output: 2, max_output: 500 },
    },
  },
});

const BODY = { model: 'fake/reader', input: 'Hello there!', voice: 'alloy' };
const PATH = '/v1/audio/speech';

function post(key: TestKey, fields: object = {}) {
  return gateway.post(PATH, key, { ...BODY, ...fields });
}

/** Every byte there is, and more than one read. */
const SOUND = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, at) => (at * 7) % 256));
const fixture = (name: string) => readFileSync(new URL(`../unit/wire/media/fixtures/${name}`, import.meta.url));
/** Half a second. */
const WAV = fixture('0.5s.wav');

describe('speech by the character', () => {
  test('passes as it comes, byte for byte and with its type, and is charged by what is said', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.answer(200, SOUND, { 'content-type': 'audio/mpeg; x=1' });
    });
    const reply = await post(key);
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'audio/mpeg']);
    assert.ok(reply.bytes.equals(SOUND));
    assert.ok(reply.headers.get('x-ratelimit-limit-requests'));
    const call = await gateway.upstream.call();
    assert.deepEqual([call.path, call.header('accept')], ['/base/v1/audio/speech', '*/*']);
    assert.equal(call.body, JSON.stringify({ ...BODY, model: 'tts-1' }));
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos, row.completion_tokens], ['ok', 12 * 15_000, 0]);
    assert.deepEqual([held, row.price], [180_000n, '0/0/0 per_character=0.000015 units=12']);
  });

  // As Alibaba's documentation counts the first, and an emoji as one.
  for (const [input, ofHanTwice, bytes] of [
    ['中A文123', 8, 10],
    ['中 文。', 6, 10],
    ['\u{1f600}', 1, 4],
    ['\u{20000}々', 4, 7],
    ['カナ한글', 4, 12],
  ] as const) {
    test(`is held and charged as its host counts ${input}: a Han character as two, or bytes of UTF-8`, async () => {
      for (const [model, units, count] of [
        ['fake/chinese', 'character_han_twice', ofHanTwice],
        ['fake/bytes', 'byte', bytes],
      ] as const) {
        const key = gateway.key();
        let held = 0n;
        gateway.upstream.follow((call) => {
          held = gateway.heldNanos(key);
          call.answer(200, SOUND, { 'content-type': 'audio/mpeg' });
        });
        await post(key, { model, input });
        const row = await gateway.row(key);
        assert.deepEqual([held, row.cost_nanos], [BigInt(count * 15_000), count * 15_000]);
        assert.equal(row.price, `0/0/0 per_${units}=0.000015 units=${count}`);
      }
    });
  }

  test('begins before it has ended', async () => {
    const key = gateway.key();
    const first = Promise.withResolvers<void>();
    gateway.upstream.follow(async (call) => {
      call.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' });
      call.send(SOUND.subarray(0, 100_000));
      call.send(SOUND.subarray(100_000, 150_000));
      await first.promise;
      call.send(SOUND.subarray(150_000));
      call.end();
    });
    const response = await gateway.open(PATH, { key, method: 'POST', body: JSON.stringify(BODY) });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const pieces = [(await reader.read()).value as Uint8Array];
    first.resolve();
    for (let part = await reader.read(); !part.done; part = await reader.read()) pieces.push(part.value);
    assert.ok(Buffer.concat(pieces).equals(SOUND));
  });

  test('that breaks off has no proper end, and costs what it would whole', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' });
      call.send(SOUND.subarray(0, 100_000));
      call.send(SOUND.subarray(100_000));
      call.reset();
    });
    await assert.rejects(post(key));
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos], ['upstream_error', 180_000]);
  });

  test('is read to its end for who leaves, and costs the same', async () => {
    const key = gateway.key();
    const leaving = new AbortController();
    gateway.upstream.follow(async (call) => {
      call.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' });
      call.send(SOUND.subarray(0, 100_000));
      leaving.abort();
      await call.pour(Buffer.alloc(0));
      call.send(SOUND.subarray(100_000));
      call.end();
    });
    await assert.rejects(gateway.post(PATH, key, BODY, { signal: leaving.signal }));
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos], ['cancelled', 180_000]);
  });

  test('that the host refuses costs nothing', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(400, { error: { message: 'no such voice' } }));
    const reply = await post(key);
    assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
    assert.equal((await gateway.row(key)).cost_nanos, 0);
  });
});

describe('speech by the token', () => {
  const TOKENS = { model: 'fake/actor' };
  const event = (fields: { readonly type: string }) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
  const delta = (bytes: number) =>
    event({ type: 'speech.audio.delta', audio: Buffer.alloc(bytes).toString('base64') } as never);
  const done = (fields: object) => event({ type: 'speech.audio.done', ...fields } as never);

  test('is charged by the report of its last event', async () => {
    const key = gateway.key();
    const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
    const events = [delta(3_000), delta(3_000), done({ usage })];
    gateway.upstream.follow((call) => {
      call.stream();
      for (const each of events) call.send(each);
      call.end();
    });
    const reply = await post(key, { ...TOKENS, stream_format: 'sse' });
    assert.equal(reply.text, events.join(''));
    const row = await gateway.row(key);
    assert.deepEqual([row.cost_nanos, row.source], [14 * 1_000 + 101 * 10_000, 'reported']);
    assert.equal(row.price, '1/1/2 audio_output=10');
  });

  test('is charged by its length where it is sound alone, and held at the most that it can be', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.answer(200, WAV, { 'content-type': 'audio/wav' });
    });
    const reply = await post(key, { ...TOKENS, response_format: 'wav' });
    assert.ok(reply.bytes.equals(WAV));
    const row = await gateway.row(key);
    // A token for each 50 ms.
    assert.deepEqual([row.completion_tokens, row.source], [10, 'counted']);
    assert.equal(row.cost_nanos, row.prompt_tokens * 1_000 + 10 * 10_000);
    assert.ok(held >= 500n * 10_000n, String(held));
  });

  for (const [format, sound, tokens] of [
    ['pcm', Buffer.alloc(48_000), 20],
    ['aac', Buffer.concat(Array<Buffer>(20).fill(adtsFrame(8_000))), 52],
    ['flac', quietFlac(1).bytes, 164],
    ['opus', fixture('1.5s-opus.ogg'), 36],
    ['mp3', fixture('1.5s.mp3'), 35],
  ] as const) {
    test(`is charged by the frames of ${format}, pauses included`, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, sound, { 'content-type': `audio/${format}` }));
      await post(key, { ...TOKENS, response_format: format });
      assert.equal((await gateway.row(key)).completion_tokens, tokens);
    });
  }

  test('costs what was held where its length cannot be read', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, SOUND, { 'content-type': 'audio/aac' }));
    await post(key, { ...TOKENS, response_format: 'aac' });
    assert.equal((await gateway.row(key)).completion_tokens, 500);
  });

  test('that holds a credential of the operator is withheld', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, `RIFF${UPSTREAM_KEY}`, { 'content-type': 'audio/wav' }));
    const reply = await post(key, TOKENS);
    assert.deepEqual([reply.status, reply.text.includes(UPSTREAM_KEY)], [502, false]);
  });
});

describe('speech is refused:', () => {
  for (const [what, fields, problem] of [
    ['nothing to say', { input: '' }, /^input: expected a string/],
    ['too fast', { speed: 5 }, /^speed: expected a number from 0.25 to 4/],
    ['an unknown way to stream', { stream_format: 'chunks' }, /^stream_format: expected sse or audio/],
    [
      'no price',
      { model: 'fake/talker' },
      /^model: this model has no price for speech; have per: { character }, or audio_output and max_output set/,
    ],
    ['another spelling of what is billed', { Input: 'x'.repeat(99) }, /^Input: differs/],
  ] as const) {
    test(what, async () => {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});
