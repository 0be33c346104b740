/** Relays a stream event by event, and meters its usage. */

import type { ClientError } from '../core/errors.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import { type EventSplitter, MAX_IMAGE_EVENT_BYTES, type SseEvent } from '../wire/sse.ts';
import { type EventAction, EventReader, type EventReaderOptions, type StreamError, splitterFor } from './events.ts';
import { errorForFailure, errorForNoProgress } from './failures.ts';
import type { Meter } from './meter.ts';
import { type Allowance, NO_WORK, type RelayResult, type StreamSink } from './relay.ts';
import { TURNS } from './turns.ts';

export interface StreamOptions extends EventReaderOptions {
  /** The number of choices that the client requested. */
  readonly choices: number;
  /** Whether answers may contain images, which need a larger limit of the event size. */
  readonly hasImages?: boolean | undefined;
  readonly allowance: Allowance;
  /** Silence of the upstream after which the client gets a keep-alive comment, in milliseconds; undefined disables them. */
  readonly keepAliveMs: number | undefined;
}

/** Sent while the upstream is silent, so that proxies do not close the stream as idle. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

const CRLF = '\r\n';

/** Comments before the first event are held back up to this size, and dropped beyond it. */
const MAX_PREAMBLE_BYTES = 64 * 1024;
/** Maximum time to drain a stream after its final event, so that its connection can be reused. */
const DRAIN_MS = 1_000;

/** Allowance for the frame of an unfinished event and a little text. */
const UNFINISHED_BYTES = 1_024;

/** Maximum time to read a stream after its finish reason, for its usage report and its final event. */
export const REPORT_MS = 2_000;

/**
 * Limits for consecutive events without progress of the answer. They allow many hours of pings and comments, and the items of
 * a response that are repeated at its end.
 */
export const MAX_IDLE_EVENTS = 10_000;
const MAX_IDLE_BYTES = 64 * 1024 * 1024;

/** Maximum number of bytes split into events at once: about one read. */
const SLICE_BYTES = 64 * 1024;

const FORWARD: EventAction = { kind: 'forward' };

/** Maximum length of a UTF-16 unit in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

const NO_BYTES = Buffer.alloc(0);

/** The hold of the stream cannot grow. */
interface Cut {
  readonly kind: 'cut';
  readonly error: ClientError;
}

/** The result of reading a batch of events. */
interface Batch {
  /** The bytes to send to the client. */
  readonly forwarded: Buffer[];
  /** The final event, or an error in its place; undefined if the stream continues. */
  readonly end: Buffer | StreamError | Cut | undefined;
  readonly waiting?: Waiting;
}

/** Events that must wait. */
interface Waiting {
  readonly events: readonly SseEvent[];
  /**
   * The action for the first event, if it is metered and waits for a larger hold. Undefined if the events wait for their
   * turn.
   */
  readonly action: EventAction | undefined;
  /** Resolves when the events may continue, or to the error that ends the stream. */
  readonly answer: Promise<ClientError | undefined>;
}

/** Relays until the stream ends, for any reason. The caller settles, and then sends the final bytes. */
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
  readonly #reader: EventReader;
  readonly #splitter: EventSplitter;
  readonly #preamble: Buffer[] = [];
  #preambleBytes = 0;
  /** Part of an oversized event has been sent, so the gateway must not write in between. */
  #insideEvent = false;
  /** The last event was sent without the LF of its final CRLF, so the gateway must not write in between. */
  #insideLineEnd = false;
  /** Events and bytes since the last progress, and the meter's progress count at that time. */
  #idleEvents = 0;
  #idleBytes = 0;
  #advances = 0;
  /** The last event, withheld while it may be the final one, which is sent after the settlement. */
  #withheld: Buffer | undefined;
  /** A write is waiting for the client: the client is slow, and the upstream not silent. */
  #isSending = false;
  #keepAlive: NodeJS.Timeout | undefined;
  /** Started at the finish reason. */
  #reportTimer: PatientTimer | undefined;

  constructor(attempt: Attempt, sink: StreamSink, meter: Meter, options: StreamOptions) {
    this.#attempt = attempt;
    this.#sink = sink;
    this.#meter = meter;
    this.#options = options;
    this.#reader = new EventReader(meter, options);
    const { hasImages, dialect } = options;
    this.#splitter = splitterFor(dialect, hasImages ? MAX_IMAGE_EVENT_BYTES : dialect.maxEventBytes);
  }

  async run(): Promise<RelayResult> {
    try {
      return await this.#relay();
    } finally {
      clearInterval(this.#keepAlive);
      this.#reportTimer?.clear();
    }
  }

  async #relay(): Promise<RelayResult> {
    try {
      const result = await this.#attempt.each((chunk) => this.#take(chunk));
      if (result !== undefined) return result;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      this.#meterUnfinished();
      return this.#incomplete(errorForFailure(error), error.message);
    }
    const rest = this.#splitter.end();
    if (rest !== undefined) {
      const result = await this.#forward(await this.#allow(this.#read([rest])), { isTerminated: false });
      if (result !== undefined) return result;
    }
    // If the dialect has no final event, the end of the body ends the stream.
    if (this.#withheld !== undefined && this.#meter.complete) return this.#endedByGateway(undefined, undefined);
    return this.#incomplete(errorForFailure(ENDED_EARLY), ENDED_EARLY.message);
  }

  /** Forwards a chunk. Synchronous while the client keeps up and the hold suffices. */
  #take(chunk: Buffer): Promise<RelayResult | undefined> | undefined {
    const end = this.#readTexts(chunk);
    const batch =
      end > 0 && end === chunk.length
        ? { forwarded: [chunk], end: undefined, waiting: undefined }
        : this.#read(this.#splitter.push(end === 0 ? chunk : chunk.subarray(end)));
    if (end > 0 && end < chunk.length) batch.forwarded.unshift(chunk.subarray(0, end));
    if (batch.end !== undefined || batch.waiting !== undefined) return this.#takeInSteps(batch);
    const behind = this.#send(batch.forwarded);
    if (behind !== undefined) return this.#awaitClient(behind);
    this.#limitReport();
    return undefined;
  }

  /** Waits for a slow client, and excludes that time from the host's silence. */
  async #awaitClient(behind: Promise<void>): Promise<undefined> {
    const startedMs = this.#meter.nowMs;
    await behind;
    this.#meter.excuseSince(startedMs);
    this.#limitReport();
  }

  /**
   * Reads the events at the start of a chunk that differ from an earlier event only in their text, while the hold suffices.
   * Returns the offset of the rest.
   */
  #readTexts(chunk: Buffer): number {
    if (!this.#sink.started || !this.#splitter.isBetweenEvents) return 0;
    let at = 0;
    let hasTime = true;
    while (hasTime) {
      const end = this.#readText(chunk, at);
      if (end === 0) break;
      hasTime = TURNS.hasTime(end - at);
      at = end;
    }
    if (at === 0) return 0;
    this.#insideEvent = false;
    this.#insideLineEnd = false;
    return at;
  }

  /**
   * Reads the event at this offset if it differs from an earlier event only in its text, and the hold suffices. Returns the
   * end of the event; otherwise 0.
   */
  #readText(bytes: Buffer, start: number): number {
    const { texts } = this.#reader;
    const { allowance } = this.#options;
    const end = texts.match(bytes, start);
    if (end === 0) return 0;
    if (!this.#meter.staysWithin(allowance.askAt, allowance, MAX_BYTES_PER_UNIT * texts.text.length)) {
      texts.keep();
      return 0;
    }
    texts.read(this.#meter);
    this.#idleEvents = 0;
    this.#idleBytes = 0;
    this.#advances = this.#meter.advances;
    return end;
  }

  /** The same for an event from the splitter, in a chunk that begins with other events or within an event. */
  #isReadAsText({ bytes, complete }: SseEvent): boolean {
    return this.#sink.started && complete && !this.#insideEvent && this.#readText(bytes, 0) > 0;
  }

  async #takeInSteps(batch: Batch): Promise<RelayResult | undefined> {
    const result = await this.#forward(batch.waiting === undefined ? batch : await this.#allow(batch));
    if (result === undefined) this.#limitReport();
    return result;
  }

  /** Reads events up to the end. The batch keeps only bytes, so that a slow client does not hold parsed text in memory. */
  #read(events: readonly SseEvent[], actionOfFirst?: EventAction): Batch {
    const forwarded: Buffer[] = [];
    for (let index = 0; index < events.length; index++) {
      const event = events[index] as SseEvent;
      const known = index === 0 ? actionOfFirst : undefined;
      const turn = known === undefined ? TURNS.wait(event.bytes.length) : undefined;
      if (turn !== undefined) {
        const answer = turn.then(() => undefined);
        return { forwarded, end: undefined, waiting: { events: events.slice(index), action: undefined, answer } };
      }
      const action = known ?? (this.#isReadAsText(event) ? FORWARD : this.#readNext(event));
      const answer = known === undefined ? this.#ask() : undefined;
      if (answer !== undefined) {
        return { forwarded, end: undefined, waiting: { events: events.slice(index), action, answer } };
      }
      this.#pass(event, action, forwarded);
      if (action.kind === 'error') return { forwarded, end: action };
      if (action.kind === 'done') return { forwarded, end: action.instead ?? event.bytes };
    }
    return { forwarded, end: undefined };
  }

  /** Passes an event on, or withholds it while it may be the last one. */
  #pass(event: SseEvent, action: EventAction, forwarded: Buffer[]): void {
    if (action.kind !== 'forward' && action.kind !== 'hide') return;
    const bytes = action.kind === 'forward' ? (action.instead ?? event.bytes) : NO_BYTES;
    if (this.#withheld !== undefined) {
      const hasNoData = event.complete && !event.data?.trim();
      // A comment, or the rest of a line end.
      if (hasNoData) this.#withheld = Buffer.concat([this.#withheld, bytes]);
      else if (this.#withheld.length > 0) forwarded.push(this.#withheld);
      if (hasNoData) return;
      this.#withheld = undefined;
    }
    if (action.kind === 'forward') this.#addEvent(event, bytes, forwarded, action.isEmpty === true);
    if (action.mayBeLast !== true) return;
    // The end of a translated stream is written by its translator.
    const isOwn = action.kind === 'forward' && this.#options.translator === undefined;
    this.#withheld = isOwn ? forwarded.pop() : NO_BYTES;
  }

  /** Reads an event, and limits the number of events without progress. */
  #readNext(event: SseEvent): EventAction {
    const action = this.#reader.read(event, this.#insideEvent);
    const isIdle = this.#meter.advances === this.#advances;
    this.#advances = this.#meter.advances;
    this.#idleEvents = isIdle ? this.#idleEvents + 1 : 0;
    this.#idleBytes = isIdle ? this.#idleBytes + event.bytes.length : 0;
    if (this.#idleEvents <= MAX_IDLE_EVENTS && this.#idleBytes <= MAX_IDLE_BYTES) return action;
    if (action.kind === 'done' || action.kind === 'error') return action;
    const note = `nothing of the answer in ${this.#idleEvents} events, ${this.#idleBytes} bytes`;
    return { kind: 'error', error: errorForNoProgress(note), note, isReported: false };
  }

  /**
   * Sends a batch in one write. Returns the result if the stream has ended. `isTerminated`: whether the last event ends with
   * its blank line.
   */
  async #forward(
    { forwarded, end }: Batch,
    { isTerminated } = { isTerminated: true },
  ): Promise<RelayResult | undefined> {
    if (end === undefined && !isTerminated && forwarded.length > 0) forwarded.push(Buffer.from('\n\n'));
    const startedMs = this.#meter.nowMs;
    await this.#send(forwarded);
    this.#meter.excuseSince(startedMs);
    if (end === undefined) return undefined;
    if (!('kind' in end)) return this.#done(end, isTerminated);
    return end.kind === 'cut' ? this.#cut(end.error) : this.#failed(end);
  }

  /** Undefined if the stream may continue for now. */
  #ask(): Promise<ClientError | undefined> | undefined {
    const { allowance } = this.#options;
    const isDue =
      this.#meter.hasWrittenMoreThan(allowance.askAt, allowance) || !allowance.coversCalls(this.#meter.calls);
    return isDue ? allowance.ask(this.#meter) : undefined;
  }

  /** Waits until the hold of a batch suffices, and sends the earlier events. The result has no waiting events. */
  async #allow(batch: Batch): Promise<Batch> {
    let allowed = batch;
    while (allowed.waiting !== undefined) {
      const { forwarded, waiting } = allowed;
      // Stops the host at once, even if the client is slow.
      const stopped = waiting.answer.then(async (error) => {
        if (error !== undefined) await this.#stop(waiting.events);
        return error;
      });
      const startedMs = this.#meter.nowMs;
      const [error] = await Promise.all([stopped, this.#send(forwarded)]);
      this.#meter.excuseSince(startedMs);
      if (error !== undefined) return { forwarded: [], end: { kind: 'cut', error } };
      allowed = this.#read(waiting.events, waiting.action);
    }
    return allowed;
  }

  /** Stops the host, and meters all bytes received, which the host bills. The first event is already metered. */
  async #stop([first, ...others]: readonly SseEvent[]): Promise<void> {
    void this.#attempt.stop();
    let isWithin = await this.#meterAll(others, first?.complete === false);
    try {
      for (let chunk = await this.#attempt.next(); chunk !== undefined; chunk = await this.#attempt.next()) {
        for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
          isWithin = await this.#meterAll(this.#splitter.push(chunk.subarray(at, at + SLICE_BYTES)), isWithin);
        }
      }
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
    }
    this.#meterUnfinished();
  }

  /**
   * Meters events without sending them. `isWithin`: whether the first event continues an earlier one. Returns the same for
   * the next event.
   */
  async #meterAll(events: readonly SseEvent[], isWithin: boolean): Promise<boolean> {
    let within = isWithin;
    for (const event of events) {
      const turn = TURNS.wait(event.bytes.length);
      if (turn !== undefined) await turn;
      this.#reader.meter(event, within);
      within = !event.complete;
    }
    return within;
  }

  /**
   * Meters the bytes of an incomplete event as text, less the size of a frame, which may contain no text. If the event may be
   * an image, the settlement charges one for the cut answer.
   */
  #meterUnfinished(): void {
    const bytes = this.#splitter.pendingBytes - UNFINISHED_BYTES;
    if (bytes > 0 && !this.#options.hasImages) this.#meter.readUnparsed(bytes);
  }

  /**
   * Holds back comments and pings until the first event with data: before it, an error can still be sent with an HTTP status.
   */
  #addEvent(event: SseEvent, bytes: Buffer, forwarded: Buffer[], isEmpty: boolean): void {
    if (!this.#sink.started) {
      const hasData = !isEmpty && (Boolean(event.data?.trim()) || !event.complete);
      if (!hasData) {
        this.#preambleBytes += bytes.length;
        if (this.#preambleBytes <= MAX_PREAMBLE_BYTES) this.#preamble.push(bytes);
        return;
      }
      forwarded.push(...this.#start());
    }
    this.#insideEvent = !event.complete;
    this.#insideLineEnd = isCutInCrlf(bytes);
    forwarded.push(bytes);
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

  /** Returns a promise if the client is behind. */
  #send(buffers: readonly Buffer[]): Promise<void> | undefined {
    if (buffers.length === 0) return undefined;
    this.#keepAlive?.refresh();
    const behind = this.#sink.write(joined(buffers));
    if (behind === undefined) return undefined;
    this.#isSending = true;
    return behind.then(() => {
      this.#isSending = false;
    });
  }

  async #done(bytes: Buffer, isTerminated: boolean): Promise<RelayResult> {
    void this.#attempt.drain(DRAIN_MS);
    // A stream with only a final event is valid, and relayed unchanged.
    await this.#send(this.#start());
    // The LF of a cut CRLF will not be read any more.
    const rest = !isTerminated ? '\n\n' : isCutInCrlf(bytes) ? '\n' : '';
    const end = Buffer.concat([bytes, Buffer.from(rest)]);
    return {
      metered: this.#meter.figuresOfStream(),
      termination: { kind: 'stream_end', error: undefined, end },
      note: undefined,
    };
  }

  /** Ends a stream whose hold cannot grow. */
  async #cut(error: ClientError): Promise<RelayResult> {
    await this.#send(this.#start());
    return this.#broken(error, `the stream was cut, since its hold could not grow: ${error.code}`);
  }

  /** Limits the time after the last choice has finished: a host may keep its stream open for long. */
  #limitReport(): void {
    const hasFinished = this.#meter.complete && this.#meter.finishedChoices >= this.#options.choices;
    if (hasFinished) this.#reportTimer ??= new PatientTimer(() => this.#attempt.abort(), REPORT_MS);
  }

  async #failed({ error, note, isReported }: StreamError): Promise<RelayResult> {
    // Records a failure of the host, not an abort by the gateway.
    this.#attempt.fail(new UpstreamFailure('broken', note));
    if (isReported && !this.#sink.started && !this.#meter.hasRead)
      return { metered: NO_WORK, termination: { kind: 'error', error }, note };
    const result = await this.#incomplete(error, note);
    if (!isReported) return result;
    // A request fault before any work means that the host rejected the request, even if it sent initial events.
    const isRejected = error.requestFault !== undefined && this.#meter.isIdle;
    return { ...result, unseen: undefined, ...(isRejected && { metered: NO_WORK }) };
  }

  /** The result for a stream without a final event: a success if all choices have finished. */
  async #incomplete(error: ClientError, note: string): Promise<RelayResult> {
    if (this.#meter.complete) return this.#endedByGateway(undefined, note);
    const unseen = this.#meter.hasRead ? 'rest' : 'answer';
    if (this.#sink.started) return { ...(await this.#broken(error, note)), unseen };
    return { metered: this.#meter.figuresOfPart(), termination: { kind: 'error', error }, note, unseen };
  }

  /** The result for a started stream that ends with an error. */
  async #broken(error: ClientError, note: string): Promise<RelayResult> {
    if (this.#insideEvent) await this.#sink.write(Buffer.from('\n\n'));
    return this.#endedByGateway(error, note);
  }

  #endedByGateway(error: ClientError | undefined, note: string | undefined): RelayResult {
    const { translator, reader } = this.#options;
    const ends = translator ?? reader;
    const last = Buffer.from(error === undefined ? ends.completion() : ends.failure(error));
    const end = this.#withheld === undefined ? last : Buffer.concat([terminated(this.#withheld), last]);
    return { metered: this.#meter.figuresOfPart(), termination: { kind: 'stream_end', error, end }, note };
  }
}

/** Completes the blank line at the end of an event, of which the host may have omitted a part. */
function terminated(event: Buffer): Buffer {
  if (event.length === 0 || /(?:\n\n|\r\n\r\n|\r\r)$/.test(event.subarray(-4).toString('latin1'))) return event;
  return Buffer.concat([event, Buffer.from(isCutInCrlf(event) ? '\n' : '\n\n')]);
}

const ENDED_EARLY = new UpstreamFailure('broken', 'the stream ended without a final event');

/** Concatenates buffers, without a copy if they are adjacent in memory like the events of one chunk. */
function joined(buffers: readonly Buffer[]): Buffer {
  const [first, ...others] = buffers as [Buffer, ...Buffer[]];
  let end = first.byteOffset + first.length;
  for (const { buffer, byteOffset, length } of others) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(buffers);
    end += length;
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset);
}

/** True for an event with CRLF line ends whose last LF has not arrived. */
function isCutInCrlf(bytes: Buffer): boolean {
  return bytes.at(-1) === CRLF.charCodeAt(0) && bytes.includes(CRLF);
}
