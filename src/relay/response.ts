/** Relays one upstream response: a completion, a stream, an error, or a failed attempt. */
import { type Attempt, type Opening, type ResponseHead, UpstreamFailure } from '../upstream/attempt.ts';
import { type BytesOptions, relayBytes } from './binary.ts';
import { relayErrorResponse, relayFailure } from './failures.ts';
import { invalidResponse, type JsonOptions, relayJson, unreadable } from './json.ts';
import type { Meter } from './meter.ts';
import type { RelayResult, StreamSink } from './relay.ts';
import { relayStream, type StreamOptions } from './stream.ts';

export interface RelayOptions extends StreamOptions, Omit<JsonOptions, 'reader'> {
  /** How a non-JSON answer is relayed; undefined if all answers are JSON. */
  readonly bytes: BytesOptions | undefined;
  /** Whether the client requested a stream. */
  readonly stream: boolean;
}

/** Relays everything but the final bytes, which wait for the settlement. `opening`: the opening of the attempt. */
export async function relayResponse(
  attempt: Attempt,
  opening: Opening,
  sink: StreamSink,
  meter: Meter,
  options: RelayOptions,
): Promise<RelayResult> {
  let relayed: RelayResult;
  try {
    if (opening instanceof UpstreamFailure) throw opening;
    meter.readTier(opening.tier);
    const relaying = relayByHead(opening, attempt, sink, meter, options);
    relayed = relaying instanceof Promise ? await relaying : relaying;
  } catch (error) {
    relayed = relayFailure(attempt, error, meter);
  }
  if (!sink.gone) return relayed;
  const left = { ...relayed, termination: { kind: 'client_gone' }, note: 'the client hung up' } as const;
  // The gateway stops a stream when its client leaves, and the host stops writing.
  return options.stream && attempt.wasAborted ? { ...left, unseen: undefined } : left;
}

function relayByHead(
  head: ResponseHead,
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: RelayOptions,
): RelayResult | Promise<RelayResult> {
  const isStreamed =
    /^\s*text\/event-stream\b/i.test(head.contentType) || (options.dialect.joinPieces !== undefined && isJson(head));
  if (options.stream && isStreamed && isReadable(head)) return relayStream(attempt, sink, meter, options);
  if (options.stream) return relayUnlessWhole(head, attempt, meter, options);
  if (isReadable(head) && options.bytes !== undefined && !isJson(head)) {
    return relayBytes(attempt, sink, meter, head.contentType, options.bytes, options);
  }
  return relayWholeByHead(head, attempt, meter, options);
}

/** Refuses a plain completion for a client that expects events. */
async function relayUnlessWhole(
  head: ResponseHead,
  attempt: Attempt,
  meter: Meter,
  options: RelayOptions,
): Promise<RelayResult> {
  const relayed = await relayWholeByHead(head, attempt, meter, options);
  if (relayed.termination.kind !== 'json' || options.dialect.mayIgnoreStream) return relayed;
  return invalidResponse(meter, options.dialect, 'the response is a completion, although a stream was requested');
}

function isJson({ contentType }: ResponseHead): boolean {
  return /^\s*application\/(?:[\w.+-]+\+)?json\b/i.test(contentType);
}

function isReadable({ status, isEncoded }: ResponseHead): boolean {
  return status >= 200 && status <= 299 && !isEncoded;
}

/** Relays a non-streaming response. */
export async function relayWhole(attempt: Attempt, meter: Meter, options: JsonOptions): Promise<RelayResult> {
  try {
    return await relayWholeByHead(await attempt.head(), attempt, meter, options);
  } catch (error) {
    return relayFailure(attempt, error, meter);
  }
}

function relayWholeByHead(
  head: ResponseHead,
  attempt: Attempt,
  meter: Meter,
  options: JsonOptions,
): RelayResult | Promise<RelayResult> {
  if (head.status < 200 || head.status > 299) return relayErrorResponse(attempt, head.status, meter, options);
  if (isReadable(head)) return relayJson(attempt, meter, options);
  attempt.abort();
  return unreadable(meter, options.dialect, 'the response is compressed, although identity was requested');
}
