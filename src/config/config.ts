/**
 * The config as the program uses it: resolved, with secrets expanded. Only the composition root
 * reads all of it.
 */
import type { ListenAddress } from '../core/address.ts';
import type { AlertTarget } from '../core/alert-targets.ts';
import type { AuthScheme, DialectName, RefusedHeader } from '../core/dialects.ts';
import type { Limits } from '../core/limits.ts';
import type { ModelTerms } from '../core/model-terms.ts';
import type { HttpProxy } from '../core/proxy.ts';
import type { Durability, RetryPolicy, Timeouts, UpstreamTimeouts } from '../core/settings.ts';
import type { StateLocation } from '../core/state-location.ts';

export interface ModelConfig extends ModelTerms {
  readonly name: string;
  /** What its host speaks to it, where that is not the same for all models of the provider. */
  readonly dialects?: readonly DialectName[] | undefined;
}

interface ProviderBase {
  readonly name: string;
  readonly timeouts: UpstreamTimeouts;
  readonly models: readonly ModelConfig[];
  /** Names of fields that requests to the provider may not have. */
  readonly refuseFields: readonly string[];
  readonly refuseHeaders: readonly RefusedHeader[];
  /** The service tier that its headers set for requests without one. */
  readonly tierOfHeaders: string | undefined;
  /** Tools of clients' own hosts that requests leave out when they are translated. */
  readonly ignoreTools: readonly string[];
  /** Whether its hosts keep responses, each for the key that made it. */
  readonly keepsResponses: boolean;
  /** Whether another provider has one of its addresses, and keeps responses there. */
  readonly sharesKeeper: boolean;
  /** What its hosts speak. */
  readonly dialects: readonly DialectName[];
  /**
   * The environment variable that must be set for the provider to be active; undefined if it is
   * active.
   */
  readonly missingVariable: string | undefined;
}

/** One of the addresses of a provider, with its own credential. */
export interface UpstreamConfig {
  /** The provider's name, with `#1`, `#2` and so on if it has several upstreams. */
  readonly name: string;
  readonly baseUrl: string;
  /** The address as written in the file: an expanded reference may be a secret. */
  readonly shownBaseUrl: string;
  readonly apiKey: string | undefined;
  /** Its share of the requests, relative to the weights of the others. */
  readonly weight: number;
  /** The environment variable that must be set for it to be active; undefined if it is active. */
  readonly missingVariable: string | undefined;
}

export interface HttpProviderConfig extends ProviderBase {
  readonly kind: 'openai' | 'azure' | 'anthropic' | 'gemini' | 'bedrock' | 'vertex';
  /** Of a provider of kind `bedrock`, as Amazon names it. */
  readonly region?: string | undefined;
  /** Of a provider of kind `vertex`, as Google names it. */
  readonly project?: string | undefined;
  /** How its hosts want their keys. */
  readonly auth: AuthScheme;
  /** At least one. */
  readonly upstreams: readonly UpstreamConfig[];
  /** The proxy that requests to the upstreams go through; undefined for direct connections. */
  readonly proxy: HttpProxy | undefined;
  /** Its address without the credentials, as it can be shown. References to variables are not expanded. */
  readonly shownProxy: string | undefined;
  /** Added to every request to the upstreams. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streamed requests ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
  /**
   * What to do with an answer whose client hangs up: abort it, or read it to the end to learn its
   * usage.
   */
  readonly onDisconnect: 'abort' | 'drain';
}

export interface MockProviderConfig extends ProviderBase {
  readonly kind: 'mock';
}

export type ProviderConfig = HttpProviderConfig | MockProviderConfig;

/**
 * False for a provider or upstream that is skipped because an environment variable it needs is not
 * set.
 */
export function isActive({ missingVariable }: ProviderConfig | UpstreamConfig): boolean {
  return missingVariable === undefined;
}

/** Where Prometheus reads metrics. */
export interface MetricsConfig {
  readonly listen: ListenAddress;
  /** How many keys have labels of their own. */
  readonly keyLabels: number;
  /** Names of this machine that those who ask may use. */
  readonly hosts: readonly string[];
}

/** The files with the certificate of the listener, and with its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The price file that the config includes. */
export interface PriceFileSummary {
  readonly path: string;
  /** When it was written; undefined if it was not read. */
  readonly importedAt: string | undefined;
  /** How many models have a price there. */
  readonly models: number;
}

/** Where traces go, and which. */
export interface OtelConfig {
  /** With the path that takes spans. */
  readonly url: string;
  /** Added to every export. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the resource that all spans belong to. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The share of the requests that are recorded, of those whose clients have not decided. */
  readonly sampleRatio: number;
}

export interface Config {
  /** The file that was read; undefined if there is none and the defaults apply. */
  readonly path: string | undefined;
  readonly listen: ListenAddress;
  /** Undefined for plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** How many workers serve requests. */
  readonly threads: number;
  readonly state: StateLocation;
  /** Where the state is, as it can be shown. */
  readonly statePath: string;
  /** The file of cached answers. It is made when there is one to keep. */
  readonly cachePath: string;
  /** The name of this gateway among those that share a state. */
  readonly node: string;
  readonly tierName: string;
  readonly tier: Limits;
  readonly creditEnforced: boolean;
  /** What a commit survives: `full` a power failure, `crash` only a crash of the process. */
  readonly durability: Durability;
  /** Undefined if the config includes no price file. */
  readonly prices: PriceFileSummary | undefined;
  /** How long rows of the journal are kept; undefined to keep them forever. */
  readonly journalRetentionMs: number | undefined;
  readonly maxBodyBytes: number;
  /** The limit for all workers together. */
  readonly maxConnections: number;
  /** From one other machine, for all workers together; undefined for as many as there are. */
  readonly maxPerSource: number | 'half' | undefined;
  /** Where health checks are answered besides `listen`; undefined for nowhere. */
  readonly health: ListenAddress | undefined;
  /** The marks above which new requests are refused; undefined means no mark. */
  readonly overload: { readonly loopDelayMs: number | undefined; readonly memoryBytes: number | undefined };
  readonly capOutput: boolean;
  /** `idleMs` also limits how long a client may leave a stream unread. */
  readonly timeouts: Timeouts;
  readonly retry: RetryPolicy;
  /** The origins of pages that may use the gateway, `*` for all; undefined for none. */
  readonly corsOrigins: readonly string[] | undefined;
  /** Undefined for none. */
  readonly metrics: MetricsConfig | undefined;
  /** Where alerts go; empty if nowhere. */
  readonly alerts: readonly AlertTarget[];
  /** Undefined for no traces. */
  readonly otel: OtelConfig | undefined;
  /**
   * How long a started stream may be silent before a comment is sent, in milliseconds; undefined
   * for never.
   */
  readonly streamKeepAliveMs: number | undefined;
  readonly logLevel: string;
  readonly providers: readonly ProviderConfig[];
  /** The models that other names stand for; one `*` in a name stands for any text without a slash. */
  readonly aliases: ReadonlyMap<string, string>;
  /** What is odd in the file, but can be used. Each names the field. */
  readonly warnings: readonly string[];
  /** When the file was last changed, in seconds since 1970: the `created` of its models. */
  readonly modifiedAtS: number;
}
