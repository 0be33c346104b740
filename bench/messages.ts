/** What the processes of the benchmark tell each other. */
import type { Percentiles } from '../test/support/statistics.ts';

/** Requests that follow each other on each connection, or that arrive at a rate, whether or not others have ended. */
export type Arrivals =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly perSecond: number };

/** What is sent, and where to: one port of the loopback. */
export interface RequestSpec {
  readonly port: number;
  readonly key: string;
  /** Whole header lines, for servers that want to be told more. */
  readonly headers: readonly string[];
  readonly stream: boolean;
}

/** How long requests are sent: for a time, or until there were so many. They end a little later. */
export type Length = { readonly milliseconds: number } | { readonly requests: number };

export interface LoadJob extends RequestSpec {
  readonly arrivals: Arrivals;
  readonly length: Length;
}

/** To the load generator, one at a time; each is answered. */
export type LoadOrder =
  | ({ readonly order: 'run' } & LoadJob)
  /** Opens that many streams, beside those that are open, and answers when each has brought its first byte. */
  | ({ readonly order: 'hold'; readonly streams: number } & RequestSpec)
  /** Asks what the streams have brought so far. */
  | { readonly order: 'count' }
  /** Waits until all streams have ended. */
  | { readonly order: 'release' };

/** From the load generator, after a run. */
export interface LoadResult {
  readonly answers: number;
  /** Events of all streams, the last usage and the `[DONE]` included. */
  readonly events: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Until the first byte of a body, in milliseconds, from when the request was due. */
  readonly firstByteMs: Percentiles;
  /** Until the last byte. */
  readonly totalMs: Percentiles;
  /** Why the run is worth nothing. */
  readonly failure: string | undefined;
}

/** From the load generator, about streams that are held. */
export interface HoldResult {
  readonly ended: number;
  readonly events: number;
  /** On the load generator's clock. */
  readonly atMs: number;
  readonly failure: string | undefined;
}

/** How the streams that begin from now on are. */
export type StreamShape =
  /** 0: each event as soon as the last one is out. */
  | { readonly events: number; readonly paceMs: number }
  /** Until they are told to end. With no pace they bring one event and fall silent. */
  | { readonly events: 'until told'; readonly paceMs: number | undefined };

/** To the upstream. */
export type UpstreamOrder =
  | { readonly order: 'shape'; readonly shape: StreamShape }
  /** Ends the streams that go on until they are told; answered with how many events they have had in all. */
  | { readonly order: 'end streams' };

/** To any process: the words with which it is asked for its usage. */
export const ASK_USAGE = 'usage';
/** The same, after what is not needed any more was given back. */
export const ASK_USAGE_AT_REST = 'usage at rest';

/** What a process has used since it began. */
export interface Usage {
  /** Of all its threads, in user and kernel. */
  readonly cpuMicroseconds: number;
  readonly rssBytes: number;
}
