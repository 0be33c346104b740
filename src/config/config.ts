/** The config as the program uses it: resolved, with secrets filled in. Only the composition root reads all of it. */

import type { ListenAddress } from '../core/address.ts';
import type { Limits } from '../core/limits.ts';
import type { ModelTerms } from '../core/model-terms.ts';
import type { Durability, RetryPolicy, Timeouts, UpstreamTimeouts } from '../core/settings.ts';

/** A model as configured. */
export interface ModelConfig extends ModelTerms {
  readonly name: string;
}

interface ProviderBase {
  readonly name: string;
  readonly timeouts: UpstreamTimeouts;
  readonly models: readonly ModelConfig[];
  /** The variable that is not set, where that keeps the provider from running. */
  readonly missingVariable: string | undefined;
}

/** One of the addresses that a provider can be reached at, with its own credential. */
export interface UpstreamConfig {
  /** The provider's name, with a number where there are several. */
  readonly name: string;
  readonly baseUrl: string;
  /** As the file spells it: what is filled in for a reference may be a secret. */
  readonly shownBaseUrl: string;
  readonly apiKey: string | undefined;
  /** Its share of the requests, beside the weights of the others. */
  readonly weight: number;
  /** The variable that is not set, where that keeps it from running. */
  readonly missingVariable: string | undefined;
}

export interface OpenaiProviderConfig extends ProviderBase {
  readonly kind: 'openai';
  /** One at least. */
  readonly upstreams: readonly UpstreamConfig[];
  /** Sent upstream with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streams ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
  /** What becomes of an answer whose client leaves: broken off, or read to its end so that its usage is known. */
  readonly onDisconnect: 'abort' | 'drain';
}

export interface MockProviderConfig extends ProviderBase {
  readonly kind: 'mock';
}

export type ProviderConfig = OpenaiProviderConfig | MockProviderConfig;

/** False for a provider, or one of its upstreams, that is left out, since its credential is not there. */
export function isActive({ missingVariable }: ProviderConfig | UpstreamConfig): boolean {
  return missingVariable === undefined;
}

export interface Config {
  /** The file that was read; undefined when the program runs on its defaults. */
  readonly path: string | undefined;
  readonly listen: ListenAddress;
  /** How many threads carry requests. */
  readonly threads: number;
  readonly statePath: string;
  readonly tierName: string;
  readonly tier: Limits;
  readonly creditEnforced: boolean;
  /** What a commit survives: `full` a power cut, `crash` only the end of the process. */
  readonly durability: Durability;
  /** How long rows of the journal are kept; undefined for ever. */
  readonly journalRetentionMs: number | undefined;
  readonly maxBodyBytes: number;
  /** Of all threads together. */
  readonly maxConnections: number;
  /** From where on new requests are refused; undefined where nothing is. */
  readonly overload: { readonly loopDelayMs: number | undefined; readonly memoryBytes: number | undefined };
  readonly capOutput: boolean;
  /** `idleMs` also bounds how long a client may leave a stream unread. */
  readonly timeouts: Timeouts;
  readonly retry: RetryPolicy;
  /** After how much silence a stream that has begun gets a comment, in milliseconds; undefined for never. */
  readonly streamKeepAliveMs: number | undefined;
  readonly logLevel: string;
  readonly providers: readonly ProviderConfig[];
  /** Seconds since 1970 when the file was last changed: what `created` shows for a model. */
  readonly modifiedAtS: number;
}
