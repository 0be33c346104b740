/** Relays a stream event by event, and meters its usage. */

import type { ClientError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import { withoutSecrets } from '../wire/answer-secrets.ts';
import { readCompletion } from '../wire/completion.ts';
import { holdsCredential, holdsVerbatim, type Secrets } from '../wire/secrets.ts';
import { DONE, dataEvent, type SseEvent, SseSplitter } from '../wire/sse.ts';
import { isErrorValue } from '../wire/upstream-error.ts';
import { errorForErrorValue, errorForFailure, errorForInvalidResponse } from './failures.ts';
import type { Meter, Metered } from './meter.ts';
import { DONE_BYTES, NO_WORK, type RelayResult, type StreamSink } from './relay.ts';

export interface StreamOptions {
  /** Whether the client requested the chunk that holds only usage. */
  readonly showUsage: boolean;
  readonly secrets: Secrets;
  /**
   * How long the upstream may be silent before the client gets a keep-alive comment, in
   * milliseconds; undefined disables them.
   */
  readonly keepAliveMs: number | undefined;
}

/**
 * Sent while the upstream is silent, so that proxies on the way do not close the stream as idle.
 */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

/** Comments before the first event are held back up to this size, and dropped beyond it. */
const MAX_PREAMBLE_BYTES = 64 * 1024;
/** How long a stream is drained after its final event, so that its connection can be reused. */
const DRAIN_MS = 1_000;

/** What to do with an event. */
type EventAction =
  /** `clean`: the bytes to send in place of the event's own, which hold a secret. */
  | { readonly kind: 'forward'; readonly clean?: Buffer }
  | { readonly kind: 'hide' }
  | { readonly kind: 'done' }
  | StreamError;

interface StreamError {
  readonly kind: 'error';
  readonly error: ClientError;
  readonly note: string;
  /** The upstream itself reported the error. As its first event, this means that it did no work. */
  readonly isReported: boolean;
}

/** What to do with a batch of events. */
interface Batch {
  /** The bytes to send to the client. */
  readonly forwarded: Buffer[];
  /** The bytes of the final event, or an error in its place; undefined if the stream goes on. */
  readonly end: Buffer | StreamError | undefined;
}

/**
 * Relays until the stream ends, however it ends. The caller settles, and then sends the final
 * bytes.
 */
export async function relayStream(
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: StreamOptions,
): Promise<RelayResult> {
  return new StreamRelay(attempt, sink, meter, options).run();
}

class StreamRelay {
  readonly #attempt: Attempt;
  readonly #sink: StreamSink;
  readonly #meter: Meter;
  readonly #options: StreamOptions;
  readonly #splitter = new SseSplitter();
  readonly #preamble: Buffer[] = [];
  #preambleBytes = 0;
  /** Only part of an oversized event has been sent: nothing of ours may be written into it. */
  #insideEvent = false;
  /**
   * The last event was sent without the LF of its final CRLF: nothing of ours may be written
   * between.
   */
  #insideLineEnd = false;
  /** A write is waiting for the client, so the client is behind rather than the upstream silent. */
  #isSending = false;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(attempt: Attempt, sink: StreamSink, meter: Meter, options: StreamOptions) {
    this.#attempt = attempt;
    this.#sink = sink;
    this.#meter = meter;
    this.#options = options;
  }

  async run(): Promise<RelayResult> {
    try {
      return await this.#relay();
    } finally {
      clearInterval(this.#keepAlive);
    }
  }

  async #relay(): Promise<RelayResult> {
    try {
      for (let chunk = await this.#attempt.next(); chunk !== undefined; chunk = await this.#attempt.next()) {
        const result = await this.#forward(this.#read(this.#splitter.push(chunk)));
        if (result !== undefined) return result;
      }
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return this.#incomplete(errorForFailure(error), error.message);
    }
    const rest = this.#splitter.end();
    const result = rest === undefined ? undefined : await this.#forward(this.#read([rest]), { isTerminated: false });
    return result ?? this.#incomplete(errorForFailure(ENDED_EARLY), ENDED_EARLY.message);
  }

  /**
   * Reads events up to the end. The batch keeps bytes only, so a slow client holds no parsed text
   * in memory.
   */
  #read(events: readonly SseEvent[]): Batch {
    const forwarded: Buffer[] = [];
    for (const event of events) {
      const action = this.#readEvent(event);
      if (action.kind === 'forward')
        this.#addEvent(action.clean === undefined ? event : { ...event, bytes: action.clean }, forwarded);
      if (action.kind === 'error') return { forwarded, end: action };
      if (action.kind === 'done') return { forwarded, end: event.bytes };
    }
    return { forwarded, end: undefined };
  }

  /**
   * Sends a batch in one write. Returns the result if the stream has ended. `isTerminated`: whether
   * the last event has the blank line that ends it.
   */
  async #forward(
    { forwarded, end }: Batch,
    { isTerminated } = { isTerminated: true },
  ): Promise<RelayResult | undefined> {
    if (end === undefined && !isTerminated && forwarded.length > 0) forwarded.push(Buffer.from('\n\n'));
    await this.#send(forwarded);
    if (end === undefined) return undefined;
    return 'kind' in end ? this.#failed(end) : this.#done(end, isTerminated);
  }

  #readEvent(event: SseEvent): EventAction {
    if (event.data === undefined || event.data.trim() === '') {
      const isPiece = !event.complete || this.#insideEvent;
      if (isPiece) this.#meter.readUnparsed(event.bytes.length);
      return this.#readUnparsed(event.bytes.toString('latin1'), isPiece);
    }
    if (event.data.trim() === DONE) return { kind: 'done' };
    const value = parseJson(event.data)?.value;
    if (event.name === 'error' || isErrorValue(value)) {
      const error = errorForErrorValue(value ?? event.data, 'error_event', this.#options.secrets);
      return { kind: 'error', error, note: 'the upstream sent an error event', isReported: true };
    }
    if (!isObject(value)) {
      const note = 'an event is not a JSON object';
      return { kind: 'error', error: errorForInvalidResponse(note), note, isReported: false };
    }
    const facts = readCompletion(value);
    this.#meter.read(facts);
    const isUsageOnly = facts.hasUsage && (facts.choices ?? 0) === 0;
    if (isUsageOnly && !this.#options.showUsage) return { kind: 'hide' };
    const clean = withoutSecrets(event.data, value, this.#options.secrets);
    return clean === undefined ? FORWARD : { kind: 'forward', clean: Buffer.from(dataEvent(clean)) };
  }

  /** A comment, or a piece of an oversized event, from which nothing can be removed. */
  #readUnparsed(text: string, isPiece: boolean): EventAction {
    const { secrets } = this.#options;
    if (isPiece && holdsCredential(text, secrets)) {
      const note = 'an oversized event holds a credential';
      return { kind: 'error', error: errorForInvalidResponse(note), note, isReported: false };
    }
    return !isPiece && holdsVerbatim(text, secrets) ? { kind: 'hide' } : FORWARD;
  }

  /**
   * Holds back comments until the first event with data: before that, an error still gets an HTTP
   * status.
   */
  #addEvent(event: SseEvent, forwarded: Buffer[]): void {
    const hasData = Boolean(event.data?.trim()) || !event.complete;
    if (!this.#sink.started && !hasData) {
      this.#preambleBytes += event.bytes.length;
      if (this.#preambleBytes <= MAX_PREAMBLE_BYTES) this.#preamble.push(event.bytes);
      return;
    }
    forwarded.push(...this.#start());
    this.#insideEvent = !event.complete;
    this.#insideLineEnd = isCutInCrlf(event.bytes);
    forwarded.push(event.bytes);
  }

  /** Starts the stream if it has not started. Returns the bytes to send first. */
  #start(): Buffer[] {
    if (this.#sink.started) return [];
    this.#sink.start();
    const { keepAliveMs } = this.#options;
    if (keepAliveMs !== undefined) this.#keepAlive = setInterval(() => this.#sendKeepAlive(), keepAliveMs);
    return this.#preamble;
  }

  #sendKeepAlive(): void {
    if (!this.#isSending && !this.#insideEvent && !this.#insideLineEnd) void this.#sink.write(KEEP_ALIVE);
  }

  async #send(buffers: readonly Buffer[]): Promise<void> {
    if (buffers.length === 0) return;
    this.#keepAlive?.refresh();
    this.#isSending = true;
    await this.#sink.write(joined(buffers));
    this.#isSending = false;
  }

  async #done(bytes: Buffer, isTerminated: boolean): Promise<RelayResult> {
    void this.#attempt.drain(DRAIN_MS);
    // A stream with only a final event is valid, and relayed as it is.
    await this.#send(this.#start());
    // The LF of a cut CRLF will not be read any more.
    const rest = !isTerminated ? '\n\n' : isCutInCrlf(bytes) ? '\n' : '';
    const end = Buffer.concat([bytes, Buffer.from(rest)]);
    return {
      metered: this.#meter.figures(),
      termination: { kind: 'stream_end', error: undefined, end },
      note: undefined,
    };
  }

  async #failed({ error, note, isReported }: StreamError): Promise<RelayResult> {
    this.#attempt.abort();
    if (isReported && !this.#sink.started && !this.#meter.hasRead)
      return { metered: NO_WORK, termination: { kind: 'error', error }, note };
    return this.#incomplete(error, note);
  }

  /**
   * The result for a stream without a final event. Once all choices have finished, it is a success.
   */
  async #incomplete(error: ClientError, note: string): Promise<RelayResult> {
    if (this.#meter.complete) return this.#endedByGateway(this.#meter.figures(), undefined, note);
    if (!this.#sink.started) return { metered: this.#charge(), termination: { kind: 'error', error }, note };
    if (this.#insideEvent) await this.#sink.write(Buffer.from('\n\n'));
    return this.#endedByGateway(this.#meter.figures(), error, note);
  }

  #charge(): Metered {
    return this.#attempt.sent ? this.#meter.figures() : NO_WORK;
  }

  #endedByGateway(metered: Metered, error: ClientError | undefined, note: string | undefined): RelayResult {
    return { metered, termination: { kind: 'stream_end', error, end: DONE_BYTES }, note };
  }
}

/**
 * Concatenates buffers, without a copy if they are adjacent in memory, as the events of one chunk
 * are.
 */
function joined(buffers: readonly Buffer[]): Buffer {
  const [first, ...others] = buffers as [Buffer, ...Buffer[]];
  let end = first.byteOffset + first.length;
  for (const { buffer, byteOffset, length } of others) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(buffers);
    end += length;
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset);
}

const FORWARD: EventAction = { kind: 'forward' };

const ENDED_EARLY = new UpstreamFailure('broken', 'the stream ended without a final event');

const CRLF = '\r\n';

/** True for an event with CRLF line ends whose last LF has not arrived. */
function isCutInCrlf(bytes: Buffer): boolean {
  return bytes.at(-1) === CRLF.charCodeAt(0) && bytes.includes(CRLF);
}
