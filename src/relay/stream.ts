/** Relays a stream, event by event, and meters it as it passes. */

import type { ClientError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import { readAnswer } from '../wire/completion.ts';
import { DONE, type SseEvent, SseSplitter } from '../wire/sse.ts';
import { isErrorValue } from '../wire/upstream-error.ts';
import { errorForFailure, errorWithin, NOT_THE_PROTOCOL } from './failures.ts';
import type { Meter, Metered } from './meter.ts';
import { DONE_BYTES, NO_WORK, type RelayResult, type StreamSink } from './relay.ts';

export interface StreamOptions {
  /** Whether the client asked for the chunk that holds nothing but usage. */
  readonly showUsage: boolean;
  readonly secrets: readonly string[];
  /** After how much silence of the upstream the client gets a comment, in milliseconds; undefined for never. */
  readonly keepAliveMs: number | undefined;
}

/** Goes to the client while the upstream is silent, so that nothing between them takes the stream for dead. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

/** Comments that come before the first event are kept up to this length, and dropped beyond it. */
const MAX_PREAMBLE_BYTES = 64 * 1024;
/** How long the rest of a stream is read after its end, so that its connection can be used again. */
const DRAIN_MS = 1_000;

/** What an event means for the stream. */
type Verdict = { readonly kind: 'pass' } | { readonly kind: 'hide' } | { readonly kind: 'done' } | ErrorVerdict;

interface ErrorVerdict {
  readonly kind: 'error';
  readonly error: ClientError;
  readonly note: string;
  /** The upstream itself says that it failed: as its first event, that proves that no work was done. */
  readonly isAnswer: boolean;
}

/** What came of some events. */
interface Judged {
  /** What goes to the client. */
  readonly passing: Buffer[];
  /** The bytes of the last event, or an error in its place; undefined where the stream goes on. */
  readonly ending: Buffer | ErrorVerdict | undefined;
}

/** Relays until the stream ends in whatever way. The last bytes are left to the caller, who settles first. */
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
  /** An event that is too long to be read has gone out in part: a line of ours must not be glued to it. */
  #insideEvent = false;
  /** The last event has gone out without the last LF of its line end: a line of ours must not come between. */
  #insideLineEnd = false;
  /** Bytes are on their way that the client has not made room for: it is the one that is silent. */
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
        const ended = await this.#take(this.#judged(this.#splitter.push(chunk)));
        if (ended !== undefined) return ended;
      }
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return this.#brokenOff(errorForFailure(error.kind), error.message);
    }
    const rest = this.#splitter.end();
    const ended = rest === undefined ? undefined : await this.#take(this.#judged([rest]), true);
    return ended ?? this.#brokenOff(errorForFailure('broken'), 'the stream ended early');
  }

  /** Judges events up to the end. What waits for a slow reader holds none of their texts. */
  #judged(events: readonly SseEvent[]): Judged {
    const passing: Buffer[] = [];
    for (const event of events) {
      const verdict = this.#judge(event);
      if (verdict.kind === 'pass') this.#pass(event, passing);
      if (verdict.kind === 'error') return { passing, ending: verdict };
      if (verdict.kind === 'done') return { passing, ending: event.bytes };
    }
    return { passing, ending: undefined };
  }

  /** Sends what passes, in one write. Returns the end, if it has come. */
  async #take({ passing, ending }: Judged, unterminated = false): Promise<RelayResult | undefined> {
    if (ending === undefined && unterminated && passing.length > 0) passing.push(Buffer.from('\n\n'));
    await this.#send(passing);
    if (ending === undefined) return undefined;
    return 'kind' in ending ? this.#failed(ending) : this.#done(ending, unterminated);
  }

  #judge(event: SseEvent): Verdict {
    if (event.data === undefined || event.data.trim() === '') {
      if (!event.complete || this.#insideEvent) this.#meter.readUnparsed(event.bytes.length);
      return { kind: 'pass' };
    }
    if (event.data.trim() === DONE) return { kind: 'done' };
    const value = parseJson(event.data)?.value;
    if (event.name === 'error' || isErrorValue(value)) {
      const error = errorWithin(value ?? event.data, this.#options.secrets);
      return { kind: 'error', error, note: 'the upstream sent an error event', isAnswer: true };
    }
    if (!isObject(value)) {
      return { kind: 'error', error: NOT_THE_PROTOCOL, note: 'an event is not a JSON object', isAnswer: false };
    }
    const facts = readAnswer(value);
    this.#meter.read(facts);
    const isUsageOnly = facts.hasUsage && (facts.choices ?? 0) === 0;
    return { kind: isUsageOnly && !this.#options.showUsage ? 'hide' : 'pass' };
  }

  /** Comments wait for the first event that says something: until then an error is an ordinary answer. */
  #pass(event: SseEvent, passing: Buffer[]): void {
    const saysSomething = Boolean(event.data?.trim()) || !event.complete;
    if (!this.#sink.started && !saysSomething) {
      this.#preambleBytes += event.bytes.length;
      if (this.#preambleBytes <= MAX_PREAMBLE_BYTES) this.#preamble.push(event.bytes);
      return;
    }
    passing.push(...this.#begin());
    this.#insideEvent = !event.complete;
    this.#insideLineEnd = isCutInCrlf(event.bytes);
    passing.push(event.bytes);
  }

  /** Sends the head if it was not sent; returns what goes out before anything else. */
  #begin(): Buffer[] {
    if (this.#sink.started) return [];
    this.#sink.start();
    const { keepAliveMs } = this.#options;
    if (keepAliveMs !== undefined) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs);
    return this.#preamble;
  }

  #beat(): void {
    if (!this.#isSending && !this.#insideEvent && !this.#insideLineEnd) void this.#sink.write(KEEP_ALIVE);
  }

  async #send(buffers: readonly Buffer[]): Promise<void> {
    if (buffers.length === 0) return;
    this.#keepAlive?.refresh();
    this.#isSending = true;
    await this.#sink.write(joined(buffers));
    this.#isSending = false;
  }

  async #done(bytes: Buffer, unterminated: boolean): Promise<RelayResult> {
    void this.#attempt.drain(DRAIN_MS);
    // A stream of nothing but its end is an answer too; the client gets it as it is.
    await this.#send(this.#begin());
    // Nothing is read any more that could bring the missing half of a line end.
    const rest = unterminated ? '\n\n' : isCutInCrlf(bytes) ? '\n' : '';
    const end = Buffer.concat([bytes, Buffer.from(rest)]);
    return {
      metered: this.#meter.figures(),
      termination: { kind: 'stream_end', error: undefined, end },
      note: undefined,
    };
  }

  /** What ends in any way after its finish reason has succeeded. */
  async #failed({ error, note, isAnswer }: ErrorVerdict): Promise<RelayResult> {
    this.#attempt.abort();
    if (isAnswer && !this.#sink.started && !this.#meter.hasRead)
      return { metered: NO_WORK, termination: { kind: 'error', error }, note };
    return this.#brokenOff(error, note);
  }

  async #brokenOff(error: ClientError, note: string): Promise<RelayResult> {
    if (this.#meter.complete) return this.#ended(this.#meter.figures(), undefined, note);
    if (!this.#sink.started) return { metered: this.#charge(), termination: { kind: 'error', error }, note };
    if (this.#insideEvent) await this.#sink.write(Buffer.from('\n\n'));
    return this.#ended(this.#meter.figures(), error, note);
  }

  #charge(): Metered {
    return this.#attempt.sent ? this.#meter.figures() : NO_WORK;
  }

  #ended(metered: Metered, error: ClientError | undefined, note: string | undefined): RelayResult {
    return { metered, termination: { kind: 'stream_end', error, end: DONE_BYTES }, note };
  }
}

/** The buffers as one: without a copy where they stand side by side, as the events of one chunk do. */
function joined(buffers: readonly Buffer[]): Buffer {
  const [first, ...others] = buffers as [Buffer, ...Buffer[]];
  let end = first.byteOffset + first.length;
  for (const { buffer, byteOffset, length } of others) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(buffers);
    end += length;
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset);
}

const CRLF = '\r\n';

/** True for an event with CRLF line ends whose last LF is still on its way. */
function isCutInCrlf(bytes: Buffer): boolean {
  return bytes.at(-1) === CRLF.charCodeAt(0) && bytes.includes(CRLF);
}
