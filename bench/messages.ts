/** What the processes of the benchmark tell each other. */
import type { Percentiles } from './statistics.ts';

/** Requests that follow each other on each connection, or that arrive at a rate, whether or not others have ended. */
export type Arrivals =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly perSecond: number };

/** To the load generator: what to do to one port of the loopback. */
export interface LoadJob {
  readonly port: number;
  readonly key: string;
  readonly stream: boolean;
  readonly arrivals: Arrivals;
  readonly durationMs: number;
}

/** From the load generator. */
export interface LoadResult {
  readonly answers: number;
  /** Events of all streams, the last usage and the `[DONE]` included. */
  readonly events: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Until the first byte of a body, in milliseconds. */
  readonly firstByteMs: Percentiles;
  /** Until the last byte. */
  readonly totalMs: Percentiles;
  /** Why the run is worth nothing. */
  readonly failure: string | undefined;
}

/** To the upstream: how the streams that begin from now on are. 0: each event as soon as the last one is out. */
export interface StreamShape {
  readonly events: number;
  readonly paceMs: number;
}

/** To any process: the word with which it is asked for its usage. */
export const ASK_USAGE = 'usage';

/** What a process has used since it began. */
export interface Usage {
  /** Of all its threads, in user and kernel. */
  readonly cpuMicroseconds: number;
  readonly rssBytes: number;
}
