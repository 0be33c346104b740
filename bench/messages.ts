/** The messages between the processes of the benchmark. */
import type { Percentiles } from '../test/support/statistics.ts';

/**
 * When requests are sent: on each connection one after another, or at a fixed rate, however long
 * the others take.
 */
export type Arrivals =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly perSecond: number };

/** What is sent, and to which port of the loopback interface. */
export interface RequestSpec {
  readonly port: number;
  readonly key: string;
  /** Additional header lines that a server needs. */
  readonly headers: readonly string[];
  readonly stream: boolean;
}

/**
 * When to stop sending: after a time, or after a number of requests. The last answers arrive a
 * little later.
 */
export type Length = { readonly milliseconds: number } | { readonly requests: number };

export interface LoadJob extends RequestSpec {
  readonly arrivals: Arrivals;
  readonly length: Length;
  /** Each request names one of so many end users, drawn at random. */
  readonly users?: number;
}

/** An order to the load generator. Each is answered before the next is sent. */
export type LoadOrder =
  | ({ readonly order: 'run' } & LoadJob)
  /** Opens more streams, and answers when each has received its first byte. */
  | ({ readonly order: 'hold'; readonly streams: number } & RequestSpec)
  /** Asks what the streams have received so far. */
  | { readonly order: 'count' }
  /** Waits until all streams have ended. */
  | { readonly order: 'release' };

/** The result of a run. */
export interface LoadResult {
  readonly answers: number;
  /** Events of all streams, the usage and `[DONE]` included. */
  readonly events: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** From when a request was due to the first byte of its body, in milliseconds. */
  readonly firstByteMs: Percentiles;
  /** From when a request was due to the last byte, in milliseconds. */
  readonly totalMs: Percentiles;
  /** Why the run is void. */
  readonly failure: string | undefined;
}

/** The state of the streams that are held open. */
export interface HoldResult {
  readonly ended: number;
  readonly events: number;
  /** By the clock of the load generator. */
  readonly atMs: number;
  readonly failure: string | undefined;
}

/** The shape of the streams that start from now on. */
export type StreamShape =
  /** With a pace of 0, each event follows as soon as the last one is written. */
  | { readonly events: number; readonly paceMs: number }
  /**
   * Streams that go on until they are ended. Without a pace they send one event and fall silent.
   */
  | { readonly events: 'endless'; readonly paceMs: number | undefined };

/** An order to the upstream. */
export type UpstreamOrder =
  | { readonly order: 'shape'; readonly shape: StreamShape }
  /** Ends the endless streams; answered with the number of their events. */
  | { readonly order: 'end streams' };

/** Asks any process for its usage. */
export const ASK_USAGE = 'usage';
/** Asks for the usage after a garbage collection. */
export const ASK_USAGE_AFTER_GC = 'usage after gc';

/** What a process has used since it started. */
export interface Usage {
  /** Of all its threads, in user and kernel mode. */
  readonly cpuMicroseconds: number;
  readonly rssBytes: number;
}
