/** Relays one upstream response: a completion, a stream, an error, or a failed attempt. */
import type { Attempt, ResponseHead } from '../upstream/attempt.ts';
import { relayErrorResponse, relayFailure } from './failures.ts';
import { invalidResponse, type JsonOptions, relayJson } from './json.ts';
import type { Meter } from './meter.ts';
import type { RelayResult, StreamSink } from './relay.ts';
import { relayStream, type StreamOptions } from './stream.ts';

export interface RelayOptions extends StreamOptions, JsonOptions {
  /** Whether the client requested a stream. */
  readonly stream: boolean;
}

/** Relays everything but the final bytes, which wait for the settlement. */
export async function relayResponse(
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: RelayOptions,
): Promise<RelayResult> {
  let relayed: RelayResult;
  try {
    relayed = await relayByHead(await attempt.head(), attempt, sink, meter, options);
  } catch (error) {
    relayed = relayFailure(attempt, error, meter);
  }
  return sink.gone ? { ...relayed, termination: { kind: 'client_gone' }, note: 'the client hung up' } : relayed;
}

async function relayByHead(
  head: ResponseHead,
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: RelayOptions,
): Promise<RelayResult> {
  if (head.status < 200 || head.status > 299) return relayErrorResponse(attempt, head.status, meter, options);
  if (head.contentEncoding !== undefined) {
    attempt.abort();
    return invalidResponse(meter, options.dialect, 'the response is compressed, although identity was requested');
  }
  const isEventStream = /^\s*text\/event-stream\b/i.test(head.contentType);
  if (options.stream && isEventStream) return relayStream(attempt, sink, meter, options);
  const relayed = await relayJson(attempt, meter, options);
  // A client that expects events could not read a plain completion.
  if (options.stream && relayed.termination.kind === 'json')
    return invalidResponse(meter, options.dialect, 'the response is a completion, although a stream was requested');
  return relayed;
}
