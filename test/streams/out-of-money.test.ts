/** Streams that are cut because no more money can be held: what is charged of what has arrived with the cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MESSAGES } from '../../src/dialects/messages/messages.ts';
import { Meter } from '../../src/relay/meter.ts';
import { relayStream } from '../../src/relay/stream.ts';
import { Attempt } from '../../src/upstream/attempt.ts';
import { chunk, DONE } from '../support/answers.ts';
import { countsOf } from '../support/tools.ts';
import { CHAT_STREAM, UNBOUNDED } from '../support/unbounded.ts';

const OUT_OF_MONEY = { code: 'insufficient_credit', message: 'No more.' } as const;

/** What is charged for a stream that may write this many tokens, and that arrives at once. */
async function charged(stream: string, tokens: number, dialect: Partial<typeof CHAT_STREAM> = {}) {
  const attempt = new Attempt();
  attempt.begin({ pause: () => {}, resume: () => {}, abort: () => {} });
  const received: Buffer[] = [];
  const sink = {
    started: false,
    gone: false,
    start: () => {
      sink.started = true;
    },
    write: (bytes: Buffer) => {
      received.push(bytes);
      return undefined;
    },
  };
  const ending = relayStream(attempt, sink, new Meter(1), {
    ...UNBOUNDED,
    ...CHAT_STREAM,
    ...dialect,
    showUsage: false,
    keepAliveMs: undefined,
    allowance: { tokens, audioWeight: 1, coversCalls: () => true, extend: async () => OUT_OF_MONEY },
  });
  attempt.push(Buffer.from(stream));
  attempt.end();
  const { termination, metered } = await ending;
  assert.ok(termination.kind === 'stream_end' && termination.error === OUT_OF_MONEY);
  return { ...metered, text: Buffer.concat(received).toString('utf8') };
}

describe('of a stream that is cut in the middle of what has arrived', () => {
  const words = Array.from({ length: 50 }, () => chunk('one two three four '));

  test('no text beyond the event that nothing is left for is charged or sent', async () => {
    const { usage, text } = await charged(words.join('') + DONE, 5);
    assert.ok(usage.completionTokens <= 15, `${usage.completionTokens} tokens`);
    assert.equal(text.split('one two').length - 1, 1);
  });

  test("all calls of the host's tools are charged, since money is held for them", async () => {
    const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const start = JSON.stringify({ type: 'content_block_start', index: 0, content_block: block });
    const stream = `event: content_block_start\ndata: ${start}\n\n`.repeat(3);
    const messages = { dialect: MESSAGES, reader: MESSAGES.startStream('req_1') };
    assert.deepEqual(countsOf(await charged(stream, 1, messages)), { web_search: 3 });
  });
});
