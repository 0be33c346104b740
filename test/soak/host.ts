/**
 * The upstream of a soak test: long answers at the pace of a model, and failures if a request asks
 * for one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import type { FakeUpstream, UpstreamCall } from '../support/fake-upstream.ts';

/** What a request asks the upstream for, in its field `user`. */
export const FAILURES = ['reset', 'stall', 'html', 'status', 'event', 'cut', 'garbage', 'late'] as const;
export type Wish = 'normal' | 'endless' | (typeof FAILURES)[number];

const EVENTS = 40;
const EVENT_MS = 40;
const WORDS = 'some words of an answer, é漢🚀 ';
/** More than the connection and all buffers hold, for clients that stop reading. */
const LONG = Buffer.from(chunk('x'.repeat(8_000)).repeat(8));
const LONG_PIECES = 400;
const KEPT_CALLS = 1_000;

export class SoakHost {
  /** Requests in flight. */
  open = 0;
  readonly #upstream: FakeUpstream;

  constructor(upstream: FakeUpstream) {
    this.#upstream = upstream;
    upstream.follow(async (call) => {
      if (upstream.calls.length > KEPT_CALLS) upstream.calls.length = 0;
      this.open++;
      try {
        await answer(call);
      } finally {
        this.open--;
      }
    });
  }

  /** Connections of the gateway, including idle ones. */
  get sockets(): number {
    return this.#upstream.connections;
  }
}

async function answer(call: UpstreamCall): Promise<void> {
  const { user, stream } = JSON.parse(call.body) as { user: Wish; stream: boolean };
  if (user === 'late') await pause(EVENTS * EVENT_MS);
  if (user === 'html') return call.answer(200, '<html>busy</html>', { 'content-type': 'text/html' });
  if (user === 'status') return call.answer(500, { error: { message: 'no' } });
  if (user === 'garbage') return call.raw('\0\x01garbage\r\n\r\n');
  if (!stream) return call.answer(200, completion(WORDS));
  call.stream();
  if (user === 'endless') return pour(call);
  for (let i = 0; i < EVENTS; i++) {
    call.send(chunk(WORDS));
    await pause(EVENT_MS);
    if (i < EVENTS / 2) continue;
    if (user === 'reset') return call.reset();
    if (user === 'cut') return call.hangUp();
    if (user === 'event') return call.send('event: error\ndata: {"error":{"message":"no"}}\n\n');
    // The gateway aborts it.
    if (user === 'stall') return;
  }
  call.send(chunk('', 'stop') + usageChunk() + DONE);
  call.end();
}

async function pour(call: UpstreamCall): Promise<void> {
  const piece = Buffer.concat([Buffer.from(`${LONG.length.toString(16)}\r\n`), LONG, Buffer.from('\r\n')]);
  for (let i = 0; i < LONG_PIECES && (await call.pour(piece)); i++);
  call.send(chunk('', 'stop') + DONE);
  call.end();
}
