/** Streams that are cut because no more money can be held: what is charged of what has arrived with the cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MESSAGES } from '../../src/dialects/messages/messages.ts';
import { Meter } from '../../src/relay/meter.ts';
import { relayStream } from '../../src/relay/stream.ts';
import { Attempt } from '../../src/upstream/attempt.ts';
import { chunk, DONE, usageChunk } from '../support/answers.ts';
import { CollectingSink } from '../support/sink.ts';
import { countsOf } from '../support/tools.ts';
import { CHAT_STREAM, UNBOUNDED } from '../support/unbounded.ts';

const OUT_OF_MONEY = { code: 'insufficient_credit', message: 'No more.' } as const;

/**
 * What is charged for a stream that may write this many tokens, and that arrives at once. `late`: what arrives only once
 * it is read on.
 */
async function charged(
  stream: string,
  tokens: number,
  { late = '', ...dialect }: Partial<typeof CHAT_STREAM> & { late?: string } = {},
) {
  const attempt = new Attempt();
  let isPaused = false;
  let aborts = 0;
  attempt.begin({
    pause: () => {
      isPaused = true;
    },
    resume: () => attempt.push(Buffer.from(late)),
    abort: () => aborts++,
  });
  const sink = new CollectingSink();
  const ending = relayStream(attempt, sink, new Meter(1), {
    ...UNBOUNDED,
    ...CHAT_STREAM,
    ...dialect,
    showUsage: false,
    keepAliveMs: undefined,
    allowance: {
      askAt: tokens,
      audioWeight: 1,
      imageWeight: 1,
      excessTokens: 0,
      coversCalls: () => true,
      ask: async () => OUT_OF_MONEY,
    },
  });
  attempt.push(Buffer.from(stream));
  if (!isPaused) attempt.end();
  const { termination, metered } = await ending;
  assert.ok(termination.kind === 'stream_end' && termination.error === OUT_OF_MONEY);
  assert.equal(aborts, isPaused ? 1 : 0);
  return { ...metered, text: sink.text() };
}

describe('of a stream that is cut in the middle of what has arrived', () => {
  const words = Array.from({ length: 50 }, () => chunk('one two three four '));
  const TOKENS = 200;

  test('all is charged, and nothing beyond what is held is sent', async () => {
    const { usage, text } = await charged(words.join(''), 5);
    assert.ok(usage.completionTokens >= 0.9 * TOKENS && usage.completionTokens <= 1.3 * TOKENS);
    assert.equal(text.split('one two').length - 1, 1);
  });

  test('what waits to be read is charged, too', async () => {
    const long = chunk('one two three four '.repeat(10)).repeat(200);
    const { usage } = await charged(long, 5, { late: words.join('') });
    const { usage: without } = await charged(long, 5);
    assert.ok(usage.completionTokens - without.completionTokens >= 0.9 * TOKENS);
  });

  test('an event that is not complete is charged by its bytes, if it is a long one', async () => {
    const tokensOf = async (rest: string) => (await charged(words.join('') + rest, 5)).usage.completionTokens;
    const whole = await tokensOf('');
    const begun = chunk('x'.repeat(3_800)).slice(0, -300);
    assert.equal(await tokensOf(chunk('one two').slice(0, -10)), whole);
    assert.ok((await tokensOf(begun)) - whole >= 600);
  });

  test('its report is charged, if that has arrived', async () => {
    const end = chunk('', 'stop') + usageChunk({ prompt_tokens: 9, completion_tokens: 180 }) + DONE;
    const { usage } = await charged(words.join('') + end, 5);
    assert.deepEqual([usage.promptTokens, usage.completionTokens], [9, 180]);
  });

  test("all calls of the host's tools are charged", async () => {
    const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const start = JSON.stringify({ type: 'content_block_start', index: 0, content_block: block });
    const stream = `event: content_block_start\ndata: ${start}\n\n`.repeat(3);
    const messages = { dialect: MESSAGES, reader: MESSAGES.startStream('req_1') };
    assert.deepEqual(countsOf(await charged(stream, 1, messages)), { web_search: 3 });
  });
});
