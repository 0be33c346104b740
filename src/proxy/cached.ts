/** Answers on their way into the cache and out of it: what a client gets is noted, and what was noted is sent again. */
import { type CachedAnswer, MAX_ANSWER_BYTES } from '../core/cached-answers.ts';
import type { Nanos } from '../core/money.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { RequestEnd } from '../observe/monitor.ts';
import { NO_WORK, type RelayResult, type StreamSink, type Termination } from '../relay/relay.ts';
import type { Admitted } from './admitted.ts';
import { errorOf, outcomeOf } from './respond.ts';

/** What the journal names in place of an upstream. No provider can have this name. */
const FROM_CACHE = '(cache)';
/** Prices of nothing, in the words of `catalog/price-text.ts`. */
const CACHED_PRICE = '0/0/0 cache=hit';
/** So much of a stream is sent before its client has to have read it, in bytes. */
const SLICE_BYTES = 64 * 1024;

/** How long a client may keep its stream waiting, in all, before equal requests of others wait no longer, in milliseconds. */
const SLOW_READER_MS = 1_000;

/** Passes a stream on, and notes it as far as it may be kept. */
export class NotingSink implements StreamSink {
  readonly #sink: StreamSink;
  readonly #leaveOthers: () => void;
  #noted: Buffer[] | undefined = [];
  #length = 0;
  #waitedMs = 0;

  /** `leaveOthers`: called once others had better not wait for this answer, which is too long or has a client that hardly reads. */
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
    // A copy: a slice would keep all that was read with it.
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

  /** All that was sent; undefined if it was too much. */
  get noted(): Buffer | undefined {
    return this.#noted && Buffer.concat(this.#noted);
  }
}

/** The answer as it is kept: only one that is whole, of the model that was asked for, and without a doubt. */
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

/** Sends an answer as it was sent before, but for its last bytes. */
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

/** How a request ends that no host was asked for: it costs nothing. */
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

/** Equal requests that are on their way to a host: others wait for the first, and go by themselves if it brings nothing. */
export class Flights {
  readonly #open = new Map<string, Flight>();

  /** The request that is on its way for an answer with this id. */
  of(id: string): Flight | undefined {
    return this.#open.get(id);
  }

  /** Others wait for this request from now on. Undefined if one is on its way already. */
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
  /** It is over, with an answer that others can have, or without one. Only the first time counts. */
  land(answer?: CachedAnswer): void;
}
