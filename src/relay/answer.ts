/** Relays one answer of an upstream, whatever it is: a completion, a stream, an error, or none at all. */
import type { Attempt, ResponseHead } from '../upstream/attempt.ts';
import { relayErrorAnswer, relayFailure } from './failures.ts';
import { notTheProtocol, relayJson } from './json.ts';
import type { Meter } from './meter.ts';
import type { RelayResult, StreamSink } from './relay.ts';
import { relayStream } from './stream.ts';

export interface AnswerOptions {
  /** Whether the client asked for a stream. */
  readonly stream: boolean;
  /** Whether it asked for the chunk of a stream that holds nothing but usage. */
  readonly showUsage: boolean;
  /** What must never reach a client. */
  readonly secrets: readonly string[];
  /** After how much silence a stream that has begun gets a comment, in milliseconds; undefined for never. */
  readonly keepAliveMs: number | undefined;
}

/** Relays all but the last bytes, which wait for the settlement. */
export async function relayAnswer(
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: AnswerOptions,
): Promise<RelayResult> {
  let relayed: RelayResult;
  try {
    relayed = await relayByHead(await attempt.head(), attempt, sink, meter, options);
  } catch (error) {
    relayed = relayFailure(attempt, error, meter);
  }
  return sink.gone ? { ...relayed, termination: { kind: 'client_gone' }, note: 'the client left' } : relayed;
}

async function relayByHead(
  head: ResponseHead,
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  options: AnswerOptions,
): Promise<RelayResult> {
  if (head.status < 200 || head.status > 299) return relayErrorAnswer(attempt, head.status, meter, options.secrets);
  if (head.contentEncoding !== undefined) {
    attempt.abort();
    return notTheProtocol(meter, 'the answer is compressed, though identity was asked for');
  }
  const isEventStream = /^\s*text\/event-stream\b/i.test(head.contentType);
  if (options.stream && isEventStream) return relayStream(attempt, sink, meter, options);
  const relayed = await relayJson(attempt, meter, options.secrets);
  // A whole completion is no stream: a client that waits for events could not read it.
  if (options.stream && relayed.termination.kind === 'json')
    return notTheProtocol(meter, 'a completion came instead of a stream');
  return relayed;
}
