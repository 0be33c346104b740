/** Records answers for the cache while they are sent, and replays cached answers. */
import { type CachedAnswer, MAX_ANSWER_BYTES } from '../core/cached-answers.ts';
import type { Nanos } from '../core/money.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { RequestEnd } from '../observe/monitor.ts';
import { NO_WORK, type RelayResult, type StreamSink, type Termination } from '../relay/relay.ts';
import type { Admitted } from './admitted.ts';
import { errorOf, outcomeOf } from './respond.ts';

/** The journal's upstream name for cached answers. No provider can have this name. */
const FROM_CACHE = '(cache)';
/** A price of zero, in the syntax of `catalog/price-text.ts`. */
const CACHED_PRICE = '0/0/0 cache=hit';
/** Bytes of a replayed stream to send before waiting for the client to read. */
const SLICE_BYTES = 64 * 1024;

/** Total time that a client may stall its stream before equal requests stop waiting for it, in milliseconds. */
const SLOW_READER_MS = 1_000;

/** Passes a stream on, and records it up to the maximum size of a cached answer. */
export class NotingSink implements StreamSink {
  readonly #sink: StreamSink;
  readonly #leaveOthers: () => void;
  #noted: Buffer[] | undefined = [];
  #length = 0;
  #waitedMs = 0;

  /**
   * `leaveOthers`: called when equal requests should stop waiting, because the answer is too long or its client hardly reads.
   */
  constructor(sink: StreamSink, leaveOthers: () => void) {
    this.#sink = sink;
    this.#leaveOthers = leaveOthers;
  }

  get started(): boolean {
    return this.#sink.started;
  }

  get gone(): boolean {
    return this.#sink.gone;
  }

  start(contentType?: string): void {
    this.#sink.start(contentType);
  }

  write(bytes: Buffer): Promise<void> | undefined {
    this.#length += bytes.length;
    if (this.#length > MAX_ANSWER_BYTES) {
      this.#noted = undefined;
      this.#leaveOthers();
    }
    // A copy: a slice would retain the whole read buffer.
    this.#noted?.push(Buffer.from(bytes));
    const drained = this.#sink.write(bytes);
    if (drained !== undefined) this.#watch(drained);
    return drained;
  }

  #watch(drained: Promise<void>): void {
    const sinceMs = performance.now();
    const timer = new PatientTimer(this.#leaveOthers, Math.max(0, SLOW_READER_MS - this.#waitedMs));
    const end = () => {
      timer.clear();
      this.#waitedMs += performance.now() - sinceMs;
    };
    void drained.then(end, end);
  }

  /** The bytes sent; undefined if they exceed the maximum size. */
  get noted(): Buffer | undefined {
    return this.#noted && Buffer.concat(this.#noted);
  }
}

/**
 * Returns the answer to cache. Only complete answers of the requested model, without a note and without host tool calls,
 * are cached.
 */
export function answerToKeep(
  { dispatch, model }: Admitted,
  { termination, note, metered }: RelayResult,
  end: { readonly usage: RequestEnd['usage']; readonly costNanos: Nanos },
  sent: Buffer | undefined,
): CachedAnswer | undefined {
  if (note !== undefined || dispatch?.model !== model || metered.calls.length > 0) return undefined;
  const bytes = bytesOf(termination, sent);
  if (bytes === undefined || bytes.body.length + (bytes.end?.length ?? 0) > MAX_ANSWER_BYTES) return undefined;
  const tokens = end.usage.promptTokens + end.usage.completionTokens;
  return { ...bytes, ignored: dispatch.ignored, tokens, costNanos: end.costNanos, storedAtMs: Date.now() };
}

function bytesOf(termination: Termination, sent: Buffer | undefined): Pick<CachedAnswer, 'body' | 'end'> | undefined {
  if (termination.kind === 'json') return { body: termination.body, end: undefined };
  if (termination.kind !== 'stream_end' || termination.error !== undefined || sent === undefined) return undefined;
  return { body: sent, end: termination.end };
}

/** Replays a cached answer except for its last bytes, which wait for the settlement. */
export async function replay({ body, end }: CachedAnswer, sink: StreamSink): Promise<RelayResult> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (end === undefined) return ended(sink, { kind: 'json', body: bytes });
  sink.start();
  for (let at = 0; at < bytes.length && !sink.gone; at += SLICE_BYTES) {
    await sink.write(bytes.subarray(at, at + SLICE_BYTES));
  }
  return ended(sink, { kind: 'stream_end', error: undefined, end: Buffer.from(end) });
}

function ended({ gone }: StreamSink, termination: Termination): RelayResult {
  return gone
    ? { metered: NO_WORK, termination: { kind: 'client_gone' }, note: 'the client hung up' }
    : { metered: NO_WORK, termination, note: undefined };
}

/** The end of a request that was answered from the cache. It costs 0. */
export function endOfCached(
  { model, plan: { alias } }: Admitted,
  { termination }: RelayResult,
): RequestEnd & { readonly price: string } {
  return {
    outcome: outcomeOf(termination),
    usage: NO_USAGE,
    source: 'reported',
    costNanos: 0n,
    price: alias === undefined ? CACHED_PRICE : `${CACHED_PRICE} as=${alias}`,
    firstByteMs: undefined,
    served: { model: model.id, upstream: FROM_CACHE, attempts: 1 },
    failure: errorOf(termination)?.failure,
  };
}

/**
 * Coalesces equal requests: while one is in flight, the others wait for its answer. If it yields no cacheable answer, they
 * are dispatched separately.
 */
export class Flights {
  readonly #open = new Map<string, Flight>();

  /** The request in flight for the answer with this id. */
  of(id: string): Flight | undefined {
    return this.#open.get(id);
  }

  /** Registers a request that others may wait for. Undefined if another one is registered. */
  begin(id: string): Flight | undefined {
    if (this.#open.has(id)) return undefined;
    const { promise, resolve } = Promise.withResolvers<CachedAnswer | undefined>();
    const land = (answer?: CachedAnswer) => {
      if (this.#open.get(id) === flight) this.#open.delete(id);
      resolve(answer);
    };
    const flight: Flight = { landed: promise, land };
    this.#open.set(id, flight);
    return flight;
  }
}

export interface Flight {
  readonly landed: Promise<CachedAnswer | undefined>;
  /** Ends the wait, with the answer or without one. Later calls have no effect. */
  land(answer?: CachedAnswer): void;
}
