/** The response cache: cache settings of a model, cached responses, and the savings from cache hits. */
import type { Nanos } from './money.ts';

/** The cache settings of a model. */
export interface CacheTerms {
  /** Time to live of a cached response, in milliseconds. */
  readonly ttlMs: number;
  /** Maximum size of the cache of this model, in bytes. The oldest responses are evicted first. */
  readonly maxBytes: number;
  /** Whether keys share cached responses. */
  readonly isShared: boolean;
  /** The ids of the keys whose responses are cached; undefined for all keys. */
  readonly keyIds: ReadonlySet<string> | undefined;
  /** Hash of all settings that can change a response. A changed setting therefore invalidates all earlier entries. */
  readonly fingerprint: string;
}

/** The address of a cached response. */
export interface AnswerPlace {
  /** SHA-256 of all inputs that determine the response, in hex. */
  readonly id: string;
  /** `<provider>/<model>`. */
  readonly model: string;
}

/** The complete response to a request, as sent to its client. */
export interface CachedAnswer {
  /** For a stream, all but its last bytes. */
  readonly body: Uint8Array;
  /** The last bytes of a stream; undefined if the response is not a stream. */
  readonly end: Uint8Array | undefined;
  /** The names of request fields that the translation dropped. */
  readonly ignored: readonly string[];
  /** Input and output tokens of the original request. */
  readonly tokens: number;
  /** The cost of the original request. */
  readonly costNanos: Nanos;
  readonly storedAtMs: number;
}

/** The saving of one cache hit. */
export interface Saving {
  readonly keyId: string;
  readonly model: string;
  readonly atMs: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** The savings of a key and a model in one day. */
export interface SavedRow {
  /** In UTC: `2026-11-23`. */
  readonly day: string;
  readonly keyId: string;
  readonly model: string;
  readonly hits: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** Maximum size of a cached response, in bytes. A response is buffered in memory while it arrives. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
