/**
 * Clients that stop reading their streams while the host keeps sending: what the gateway buffers,
 * and that nothing is lost.
 */
import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Site, type SiteKey } from '../control/site.ts';
import { chunk, DONE } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { GAUGED_SERVE, readGauge } from '../support/gauge.ts';
import { residentBytesOf } from '../support/process.ts';
import type { Scope } from '../support/run-scope.ts';
import { bounded, until } from '../support/wait.ts';

export interface TrialOptions {
  readonly readers: number;
  /** What the host has to send to each of them. */
  readonly bytesEach: number;
}

export interface TrialResult {
  /**
   * What the main thread uses after a collection, in bytes: before the streams, and while nobody
   * was reading.
   */
  readonly usedBefore: number;
  readonly usedAfter: number;
  /**
   * Memory of the process, in bytes: after as much traffic to clients that read, and the most while
   * nobody was reading.
   */
  readonly memoryBefore: number;
  readonly memoryAtMost: number;
  /**
   * How much the host could send while nobody was reading, in bytes, over all streams; the system
   * holds most of it.
   */
  readonly pulledBytes: number;
  readonly deviations: readonly string[];
}

/** At least what the systems between host and client buffer of a stream that nobody reads. */
const WARM_UP_BYTES = 8_000_000;
/** Of an event: text, and what hosts add to hide its length, which takes no time to count. */
const TEXT_CHARACTERS = 400;
const PADDING_CHARACTERS = 3_600;
const SAMPLE_MS = 50;
/** How long nothing may move before it counts as stalled. */
const STILL_MS = 1_000;
/** How many read on in the end. */
const RESUMED = 3;

const PADDING = { obfuscation: 'x'.repeat(PADDING_CHARACTERS) };
const PIECE = Buffer.from(chunk('x'.repeat(TEXT_CHARACTERS), null, PADDING));
const END = Buffer.from(chunk('', 'stop') + DONE);

/** How much a host could send so far. */
class Tap {
  bytes = 0;
  /** Streams that it has not finished. */
  open = 0;
  readonly #bytesEach: number;

  constructor(bytesEach: number) {
    this.#bytesEach = bytesEach;
  }

  /** The length of a stream, all events together. */
  get streamBytes(): number {
    return Math.ceil(this.#bytesEach / PIECE.length) * PIECE.length + END.length;
  }

  async pour(call: UpstreamCall): Promise<void> {
    call.head(200, { 'content-type': 'text/event-stream', 'content-length': String(this.streamBytes) });
    this.open++;
    let left = this.#bytesEach;
    for (; left > 0 && (await call.pour(PIECE)); left -= PIECE.length) this.bytes += PIECE.length;
    if (left <= 0) call.raw(END);
    this.open--;
  }
}

export async function stopReading(scope: Scope, { readers, bytesEach }: TrialOptions): Promise<TrialResult> {
  const limits = { rpm: 1_000_000, tpm: 1_000_000_000_000, concurrency: 2 * readers };
  const site = await Site.open(scope, { credit: 'off', tiers: { standard: limits } }, GAUGED_SERVE);
  const key = site.key();
  const { pid } = await site.snapshot();
  await warmUp(site, key, readers, bytesEach);
  const tap = new Tap(bytesEach);
  site.upstream.follow((call) => tap.pour(call));
  const usedBefore = await usedBytes(site);
  const memoryBefore = residentBytesOf(pid);
  const streams = await Promise.all(Array.from({ length: readers }, () => openStream(site, key)));
  const memoryAtMost = await watchUntilStill(pid, tap);
  const pulledBytes = tap.bytes;
  const usedAfter = await usedBytes(site);
  const deviations: string[] = [];
  for (const stream of streams.slice(0, RESUMED)) {
    const length = await readOn(stream);
    if (length !== tap.streamBytes) deviations.push(`${length} of ${tap.streamBytes} bytes came in the end`);
  }
  for (const { response } of streams) response.destroy();
  await until(() => countHolds(site.database) === 0).catch((error: Error) => deviations.push(error.message));
  await until(() => tap.open === 0).catch(() => {});
  if (tap.open > 0) deviations.push(`the host still sends ${tap.open} streams`);
  await site.stop();
  return { usedBefore, usedAfter, memoryBefore, memoryAtMost, pulledBytes, deviations };
}

/**
 * The same traffic as in the trial, to clients that read, so that what it costs any process is not
 * counted.
 */
async function warmUp(site: Site, key: SiteKey, readers: number, bytesEach: number): Promise<void> {
  const tap = new Tap(Math.min(bytesEach, WARM_UP_BYTES));
  site.upstream.follow((call) => tap.pour(call));
  await Promise.all(Array.from({ length: readers }, async () => readOn(await openStream(site, key))));
}

async function usedBytes(site: Site): Promise<number> {
  const { heapBytes, bufferBytes } = await readGauge(site.place, site.serving);
  return heapBytes + bufferBytes;
}

interface Stream {
  readonly response: IncomingMessage;
  /** The bytes that were read before the client stopped reading. */
  readonly first: number;
}

/** A stream whose first chunk was read, and nothing after it. */
async function openStream(site: Site, key: SiteKey): Promise<Stream> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' };
  const options = { method: 'POST', headers, agent: false };
  request(`${site.serving.url}/v1/chat/completions`, options, resolve)
    .once('error', reject)
    .end(JSON.stringify({ model: 'host/model', messages: [{ role: 'user', content: 'hi' }], stream: true }));
  const response = await promise;
  assert.equal(response.statusCode, 200);
  const first = Promise.withResolvers<number>();
  response.once('data', (bytes: Buffer) => {
    response.pause();
    first.resolve(bytes.length);
  });
  response.on('error', () => {});
  return { response, first: await bounded(first.promise, 'the first chunk of a stream') };
}

async function readOn({ response, first }: Stream): Promise<number> {
  let length = first;
  response.on('data', (bytes: Buffer) => {
    length += bytes.length;
  });
  const ended = new Promise((resolve) => response.once('close', resolve));
  response.resume();
  await ended;
  return length;
}

/** The most memory that the process uses until nothing moves any more. */
async function watchUntilStill(pid: number, tap: Tap): Promise<number> {
  let most = 0;
  let [bytes, movedAtMs] = [tap.bytes, performance.now()];
  while (performance.now() - movedAtMs < STILL_MS) {
    await pause(SAMPLE_MS);
    most = Math.max(most, residentBytesOf(pid));
    if (tap.bytes !== bytes) [bytes, movedAtMs] = [tap.bytes, performance.now()];
  }
  return most;
}
