/** Answers that a gateway keeps to give them again: what is kept of one, and for how long. */
import type { Nanos } from './money.ts';

/** What the config says of the cache of a model. */
export interface CacheTerms {
  /** How long an answer may be given again, in milliseconds. */
  readonly ttlMs: number;
  /** The most that is kept of this model, in bytes. The oldest answers give way. */
  readonly maxBytes: number;
  /** Whether a key gets what another has asked for. */
  readonly isShared: boolean;
  /** The ids of the keys whose answers are kept; undefined for those of all. */
  readonly keyIds: ReadonlySet<string> | undefined;
  /** Of all in the config that can change an answer: with another config none of the old ones is found. */
  readonly fingerprint: string;
}

/** Where an answer is kept. */
export interface AnswerPlace {
  /** SHA-256 of all that the answer depends on, in hex. */
  readonly id: string;
  /** `<provider>/<model>`. */
  readonly model: string;
}

/** The whole answer to a request, as its client got it. */
export interface CachedAnswer {
  /** Of a stream, all but its last bytes. */
  readonly body: Uint8Array;
  /** The last bytes of a stream; undefined for an answer that is none. */
  readonly end: Uint8Array | undefined;
  /** The names of fields that a translation has left out of the request. */
  readonly ignored: readonly string[];
  /** Input and output that its host has read and written. */
  readonly tokens: number;
  /** What it has cost. */
  readonly costNanos: Nanos;
  readonly storedAtMs: number;
}

/** What was given without asking a host: for a key, of a model. */
export interface Saving {
  readonly keyId: string;
  readonly model: string;
  readonly atMs: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** What was given without asking a host, in one day. */
export interface SavedRow {
  /** In UTC: `2026-11-23`. */
  readonly day: string;
  readonly keyId: string;
  readonly model: string;
  readonly hits: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** A longer answer is not kept, in bytes. Answers are held in memory while they come. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
