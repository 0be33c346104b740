/** The config as the program uses it: resolved, with secrets filled in. Only the composition root reads all of it. */
import type { ModelTerms } from '../core/terms.ts';
import type { ListenAddress } from './units.ts';

/** The limits of a tier: requests and tokens per minute, requests at once, model listings per minute. */
export interface Tier {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly modelsRpm: number;
}

/** How long an upstream may take, in milliseconds. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** Until the response's headers. */
  readonly firstByteMs: number;
  /** Between any two bytes. */
  readonly idleMs: number;
}

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

/** When a request may be tried again. */
export interface RetryConfig {
  /** How often one request may be tried in all. */
  readonly attempts: number;
  /** How many retries there may be, as a share of the requests. */
  readonly budget: number;
}

export interface Config {
  /** The file that was read; undefined when the program runs on its defaults. */
  readonly path: string | undefined;
  readonly listen: ListenAddress;
  /** How many threads carry requests. */
  readonly threads: number;
  readonly statePath: string;
  readonly tierName: string;
  readonly tier: Tier;
  readonly creditEnforced: boolean;
  /** What a commit survives: `full` a power cut, `crash` only the end of the process. */
  readonly durability: 'full' | 'crash';
  /** How long rows of the journal are kept; undefined for ever. */
  readonly journalRetentionMs: number | undefined;
  readonly maxBodyBytes: number;
  /** Of all threads together. */
  readonly maxConnections: number;
  /** From where on new requests are refused; undefined where nothing is. */
  readonly overload: { readonly loopDelayMs: number | undefined; readonly memoryBytes: number | undefined };
  readonly capOutput: boolean;
  /** For a client to send its headers, and between two pieces of its body. */
  readonly requestTimeoutMs: number;
  /** How long a client may leave a stream unread: as long as an upstream may be silent. */
  readonly clientStallTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly retry: RetryConfig;
  /** After how much silence a stream that has begun gets a comment, in milliseconds; undefined for never. */
  readonly streamKeepAliveMs: number | undefined;
  readonly logLevel: string;
  readonly providers: readonly ProviderConfig[];
  /** Seconds since 1970 when the file was last changed: what `created` shows for a model. */
  readonly modifiedAtS: number;
}
