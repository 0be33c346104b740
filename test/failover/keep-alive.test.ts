/** Keep-alive comments: sent while the upstream of a stream is silent, and nothing else changes. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Meter } from '../../src/relay/meter.ts';
import type { RelayResult, StreamSink } from '../../src/relay/relay.ts';
import { relayStream } from '../../src/relay/stream.ts';
import { Attempt } from '../../src/upstream/attempt.ts';
import { MAX_EVENT_BYTES } from '../../src/wire/sse.ts';
import { chunk, DONE } from '../support/answers.ts';
import { chat } from '../support/gateway.ts';
import { CHAT_STREAM, UNBOUNDED } from '../support/unbounded.ts';
import { withStage } from './stage.ts';

const COMMENT = ': keep-alive\n\n';
const EVERY_MS = 15_000;
const SOURCE = { pause() {}, resume() {}, abort() {} };

interface Interval {
  everyMs: number;
  leftMs: number;
  work(): void;
  refresh(): void;
}

/** Intervals whose time is moved by hand. Those of the test runner's mock cannot be refreshed. */
class Intervals {
  readonly #running = new Set<Interval>();

  readonly set = ((work: () => void, everyMs: number) => {
    const interval: Interval = {
      everyMs,
      leftMs: everyMs,
      work,
      refresh() {
        this.leftMs = everyMs;
      },
    };
    this.#running.add(interval);
    return interval;
  }) as unknown as typeof setInterval;

  readonly clear = ((interval: Interval) => void this.#running.delete(interval)) as unknown as typeof clearInterval;

  get size(): number {
    return this.#running.size;
  }

  pass(milliseconds: number): void {
    for (const interval of this.#running) {
      interval.leftMs -= milliseconds;
      for (; interval.leftMs <= 0; interval.leftMs += interval.everyMs) interval.work();
    }
  }
}

let intervals = new Intervals();

/** A client that reads what it is sent; while it is paused, nothing. */
class Client implements StreamSink {
  started = false;
  readonly gone = false;
  text = '';
  #room = Promise.resolve();

  start(): void {
    this.started = true;
  }

  write(bytes: Buffer): Promise<void> {
    this.text += bytes.toString();
    return this.#room;
  }

  /** Reads nothing until the returned function is called. */
  stall(): () => void {
    const room = Promise.withResolvers<void>();
    this.#room = room.promise;
    return () => {
      this.#room = Promise.resolve();
      room.resolve();
    };
  }
}

class Relay {
  readonly client = new Client();
  readonly #attempt = new Attempt();
  readonly #ended: Promise<RelayResult>;

  constructor({ isOff = false } = {}) {
    const keepAliveMs = isOff ? undefined : EVERY_MS;
    this.#attempt.begin(SOURCE);
    this.#ended = relayStream(this.#attempt, this.client, new Meter(1), {
      ...UNBOUNDED,
      ...CHAT_STREAM,
      showUsage: true,
      keepAliveMs,
    });
  }

  async send(text: string): Promise<void> {
    this.#attempt.push(Buffer.from(text));
    await turn();
  }

  /** The upstream is silent for this long. */
  async silence(milliseconds: number): Promise<void> {
    intervals.pass(milliseconds);
    await turn();
  }

  end(): Promise<RelayResult> {
    this.#attempt.end();
    return this.#ended;
  }
}

describe('a stream', () => {
  beforeEach(() => {
    intervals = new Intervals();
    mock.method(globalThis, 'setInterval', intervals.set);
    mock.method(globalThis, 'clearInterval', intervals.clear);
  });
  afterEach(() => {
    assert.equal(intervals.size, 0, 'a timer is left');
    mock.restoreAll();
  });

  test('gets a comment after each silence, measured from its last byte', async () => {
    const relay = new Relay();
    await relay.send(chunk('a'));
    await relay.silence(EVERY_MS - 1);
    await relay.send(chunk('b'));
    await relay.silence(EVERY_MS - 1);
    assert.equal(relay.client.text, chunk('a') + chunk('b'));
    await relay.silence(1);
    assert.equal(relay.client.text, chunk('a') + chunk('b') + COMMENT);
    await relay.silence(2 * EVERY_MS);
    assert.equal(relay.client.text, chunk('a') + chunk('b') + COMMENT.repeat(3));
    await relay.end();
  });

  test('gets none before it has started, when an upstream failure is still an HTTP error', async () => {
    const relay = new Relay();
    await relay.send(': the upstream is thinking\n\n');
    await relay.silence(10 * EVERY_MS);
    assert.deepEqual([relay.client.started, relay.client.text], [false, '']);
    await relay.send(chunk('a'));
    assert.equal(relay.client.text, `: the upstream is thinking\n\n${chunk('a')}`);
    await relay.end();
  });

  test('gets none if they are disabled', async () => {
    const relay = new Relay({ isOff: true });
    await relay.send(chunk('a'));
    await relay.silence(100 * EVERY_MS);
    assert.equal(relay.client.text, chunk('a'));
    await relay.end();
  });

  test('gets none within an event', async () => {
    const relay = new Relay();
    await relay.send(chunk('a'));
    const event = chunk('b');
    await relay.send(event.slice(0, 10));
    await relay.silence(EVERY_MS);
    await relay.send(event.slice(10));
    assert.equal(relay.client.text, chunk('a') + COMMENT + event);
    await relay.end();
  });

  test('gets none within an oversized event, which is passed on in pieces', async () => {
    const relay = new Relay();
    const event = chunk('x'.repeat(MAX_EVENT_BYTES + 100));
    await relay.send(event.slice(0, -20));
    await relay.silence(3 * EVERY_MS);
    await relay.send(event.slice(-20));
    await relay.silence(EVERY_MS);
    assert.equal(relay.client.text, event + COMMENT);
    await relay.end();
  });

  test('gets none between CR and LF', async () => {
    const relay = new Relay();
    const [first, second] = [chunk('a'), chunk('b')].map((event) => event.replaceAll('\n', '\r\n')) as [string, string];
    await relay.send(first.slice(0, -1));
    await relay.silence(3 * EVERY_MS);
    assert.equal(relay.client.text, first.slice(0, -1));
    await relay.send(`\n${second}`);
    await relay.silence(EVERY_MS);
    assert.equal(relay.client.text, first + second + COMMENT);
    await relay.end();
  });

  test('gets none while the client is behind', async () => {
    const relay = new Relay();
    const makeRoom = relay.client.stall();
    await relay.send(chunk('a'));
    await relay.silence(3 * EVERY_MS);
    assert.equal(relay.client.text, chunk('a'));
    makeRoom();
    await turn();
    await relay.silence(EVERY_MS);
    assert.equal(relay.client.text, chunk('a') + COMMENT);
    await relay.end();
  });

  test('gets none after its end', async () => {
    const relay = new Relay();
    await relay.send(chunk('a', 'stop') + DONE);
    const { termination } = await relay.end();
    await relay.silence(10 * EVERY_MS);
    assert.equal(relay.client.text, chunk('a', 'stop'));
    assert.ok(termination.kind === 'stream_end' && termination.end.toString() === DONE);
  });
});

test('a stream through a gateway is byte for byte what the upstream sent, except for the comments', () =>
  withStage(1, { config: { stream_keep_alive: '20ms' } }, async (stage) => {
    const goOn = Promise.withResolvers<void>();
    const pieces = [chunk('a'), chunk('b').slice(0, 12), chunk('b').slice(12), chunk('c', 'stop'), DONE];
    const begun = Promise.withResolvers<void>();
    stage.follow(async (call) => {
      call.stream();
      await begun.promise;
      for (const piece of pieces.slice(0, 2)) call.send(piece);
      await goOn.promise;
      for (const piece of pieces.slice(2)) call.send(piece);
      call.end();
    });
    const connection = await stage.gateway.asking(stage.key(), chat({ stream: true }));
    await stage.host(0).call();
    begun.resolve();
    await connection.has(COMMENT);
    goOn.resolve();
    const { status, body } = await connection.answer();
    assert.equal(status, 200);
    assert.ok(body.startsWith(chunk('a') + COMMENT));
    assert.equal(body.replaceAll(COMMENT, ''), pieces.join(''));
    connection.leave();
  }));
