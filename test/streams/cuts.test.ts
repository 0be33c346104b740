/** Streams cut into pieces anywhere: the client gets the same, and pays the same. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Meter } from '../../src/relay/meter.ts';
import { relayStream } from '../../src/relay/stream.ts';
import { Attempt } from '../../src/upstream/attempt.ts';
import { MAX_EVENT_BYTES } from '../../src/wire/sse.ts';
import { chunk, DONE } from '../support/answers.ts';
import { inParallel } from '../support/cli.ts';
import { chat, startTestGateway } from '../support/gateway.ts';
import { CollectingSink } from '../support/sink.ts';
import { CHAT_STREAM, UNBOUNDED } from '../support/unbounded.ts';
import { HOST_STREAMS, type HostStream } from './hosts.ts';

/** What is relayed of a stream that arrives in these chunks, and what is charged. */
async function relayed(chunks: readonly Buffer[]): Promise<{ text: string; charged: unknown }> {
  const attempt = new Attempt();
  attempt.begin({ pause: () => {}, resume: () => {}, abort: () => {} });
  const sink = new CollectingSink();
  const meter = new Meter(7);
  const ending = relayStream(attempt, sink, meter, {
    ...UNBOUNDED,
    ...CHAT_STREAM,
    showUsage: false,
    keepAliveMs: undefined,
  });
  for (const piece of chunks) {
    attempt.push(piece);
    await turn();
  }
  attempt.end();
  const { termination, metered } = await ending;
  assert.ok(termination.kind === 'stream_end' && termination.error === undefined);
  const { usage, source } = metered;
  return { text: sink.text(termination.end), charged: { usage, source } };
}

const bytesOf = ({ pieces }: HostStream) => Buffer.from(pieces.map(({ text }) => text).join(''));
const shownOf = ({ pieces }: HostStream) =>
  pieces.flatMap(({ text, isHidden }) => (isHidden === undefined ? [text] : [])).join('');
/**
 * The LF of a hidden event's last CRLF can remain: an additional blank line, which has no meaning.
 */
const linesOf = (text: string) => text.split(/\r\n|\r|\n/).filter((line) => line !== '');
const isPlain = (text: string) => !text.includes('\r');

function assertShown(text: string, stream: HostStream, where: string): void {
  const expected = shownOf(stream);
  if (isPlain(expected)) assert.equal(text, expected, where);
  assert.deepEqual(linesOf(text), linesOf(expected), where);
}

describe('a relayed stream', () => {
  for (const stream of HOST_STREAMS) {
    const bytes = bytesOf(stream);
    test(`${stream.name}: arrives unchanged wherever it is cut`, async () => {
      const whole = await relayed([bytes]);
      assertShown(whole.text, stream, 'whole');
      for (let at = 1; at < bytes.length; at++) {
        const cut = await relayed([bytes.subarray(0, at), bytes.subarray(at)]);
        assertShown(cut.text, stream, `cut at ${at}`);
        assert.deepEqual(cut.charged, whole.charged, `cut at ${at}`);
      }
      const single = await relayed(Array.from(bytes, (byte) => Buffer.from([byte])));
      assertShown(single.text, stream, 'byte by byte');
      assert.deepEqual(single.charged, whole.charged);
    });
  }

  test('arrives unchanged in random pieces, one stream after another', async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    const property = fc.asyncProperty(fc.constantFrom(...HOST_STREAMS), cuts, async (stream, places) => {
      const bytes = bytesOf(stream);
      const ends = [...places.map((place) => place % bytes.length), bytes.length].toSorted((a, b) => a - b);
      const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      assertShown((await relayed(chunks.filter(({ length }) => length > 0))).text, stream, `${ends}`);
    });
    await fc.assert(property, { numRuns: 1_000 });
  });

  test('with an oversized line arrives unchanged', async () => {
    const text = chunk('x'.repeat(2 * MAX_EVENT_BYTES)) + chunk('é', 'stop') + DONE;
    const bytes = Buffer.from(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 60_000) }, (_, index) =>
      bytes.subarray(index * 60_000, (index + 1) * 60_000),
    );
    assert.ok((await relayed(chunks)).text === text);
  });
});

describe('a stream through a gateway', async () => {
  const gateway = await startTestGateway({ config: { tiers: { standard: { rpm: 1_000_000 } } } });
  after(() => gateway.stop());
  afterEach(() => gateway.assertSettled());
  const key = gateway.key();

  /**
   * What clients get of a stream that the host sends in two pieces, cut at each of these offsets.
   */
  async function received(bytes: Buffer, places: readonly number[]): Promise<string[]> {
    gateway.upstream.follow(async (call) => {
      const at = Number(JSON.parse(call.body).user);
      call.stream();
      if (at > 0) call.send(bytes.subarray(0, at));
      // Makes the pieces arrive one by one.
      for (let turns = 0; turns < 4; turns++) await turn();
      call.send(bytes.subarray(at));
      call.end();
    });
    return inParallel(places, async (at) => {
      const { status, text } = await gateway.complete(key, chat({ stream: true, user: String(at) }));
      assert.equal(status, 200, text);
      return text;
    });
  }

  for (const stream of HOST_STREAMS) {
    test(`${stream.name}: arrives unchanged`, async () => {
      const bytes = bytesOf(stream);
      // Every cut of one stream, and some of the others.
      const step = stream.name === 'with CRLF' ? 1 : Math.ceil(bytes.length / 20);
      const places = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => index * step);
      const texts = await received(bytes, places);
      for (const [index, text] of texts.entries()) assertShown(text, stream, `cut at ${places[index]}`);
    });
  }
});
