/** Answers that are audio: metered at the price of audio, by their length, wherever no usage says it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, DONE, event, streaming } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, type Row, type TestGateway, withGateway } from '../support/gateway.ts';
import { outputTokens } from '../support/tokens.ts';

/** A token of text costs 1,000 nanodollars in and 2,000 out, one of audio 16,000. */
const MODELS = { echo: { input: 1, output: 2, audio_output: 16, default_output: 100, max_output: 10_000 } };
const TEXT = 2_000;
const AUDIO = 16_000;
/** 50 ms of sound, in base64: 24,000 samples of two bytes a second. */
const TOKEN = Buffer.alloc(2_400).toString('base64');
const SAID = 'some words';

const sound = (tokens: number) => event({ choices: [{ index: 0, delta: { audio: { data: TOKEN.repeat(tokens) } } }] });
const transcript = event({ choices: [{ index: 0, delta: { audio: { id: 'a', transcript: SAID } } }] });
const spoken = (fields: object = {}) =>
  chat({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' }, ...fields });

const withSpeeches = (body: (gateway: TestGateway) => Promise<void>, credit = '1') =>
  withGateway({ credit, provider: { models: MODELS } }, body);

const costOf = ({ prompt_tokens: input }: Row, tokens: number) =>
  input * 1_000 + outputTokens(SAID) * TEXT + tokens * AUDIO;

describe('a speech without a report is charged at the price of audio,', () => {
  const message = { role: 'assistant', content: null, audio: { id: 'a', data: TOKEN.repeat(40), transcript: SAID } };
  const whole = answering({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
  const ROWS: readonly (readonly [what: string, fields: object, script: Script, tokens: number])[] = [
    ['whole', {}, whole, 40],
    ['in a stream', { stream: true }, streaming(sound(10), transcript, sound(30), chunk('', 'stop'), DONE), 40],
    // Of what compresses, the least that speech takes is assumed.
    ['as MP3', { audio: { voice: 'alloy', format: 'mp3' } }, whole, (40 * 2_400) / 200],
    ['in a format that is not known', { audio: { voice: 'alloy', format: 'new' } }, whole, (40 * 2_400) / 75],
  ];
  for (const [what, fields, script, tokens] of ROWS) {
    test(what, () =>
      withSpeeches(async (gateway) => {
        const key = gateway.key();
        gateway.upstream.follow(script);
        assert.equal((await gateway.complete(key, spoken({ max_tokens: 2_000, ...fields }))).status, 200);
        const row = await gateway.row(key);
        assert.deepEqual([row.source, row.cost_nanos], ['counted', costOf(row, tokens)]);
        assert.equal(row.completion_tokens, tokens + outputTokens(SAID));
      }),
    );
  }
});

test('a client that leaves a speech at its last chunk pays for all of it', () =>
  withSpeeches(async (gateway) => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(sound(100).repeat(6) + transcript);
    });
    const connection = await gateway.asking(key, spoken({ stream: true, max_tokens: 1_000 }));
    await connection.has(SAID);
    connection.leave();
    const row = await gateway.row(key);
    assert.equal(row.cost_nanos, costOf(row, 600));
  }));

test('a report that came before most of a speech is not the last word on it', () =>
  withSpeeches(async (gateway) => {
    const key = gateway.key();
    const usage = { prompt_tokens: 9, completion_tokens: 5, completion_tokens_details: { audio_tokens: 5 } };
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(sound(5) + chunk('', null, { usage }) + sound(100));
      call.hangUp();
    });
    await gateway.complete(key, spoken({ stream: true, max_tokens: 1_000 }));
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.cost_nanos], ['counted', row.prompt_tokens * 1_000 + 105 * AUDIO]);
  }));

test('a speech without a maximum is cut when the balance leaves nothing', () =>
  withSpeeches(async (gateway) => {
    const key = gateway.key();
    const before = gateway.balanceNanos;
    gateway.upstream.follow((call) => {
      call.stream();
      for (let i = 0; i < 50; i++) call.send(sound(10));
      call.send(chunk('', 'stop') + DONE);
      call.end();
    });
    const { text } = await gateway.complete(key, spoken({ stream: true }));
    assert.match(text, /insufficient_credit/);
    const cost = before - gateway.balanceNanos;
    assert.equal(Number(cost), (await gateway.row(key)).cost_nanos);
    assert.ok(cost >= before, `${cost}`);
  }, '0.004'));
