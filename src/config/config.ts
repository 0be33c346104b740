/** The config as the program uses it: resolved, with references expanded. Only the composition root reads all of it. */
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
  /** The dialects of its host, if they differ from the provider's. */
  readonly dialects?: readonly DialectName[] | undefined;
}

interface ProviderBase {
  readonly name: string;
  readonly timeouts: UpstreamTimeouts;
  readonly models: readonly ModelConfig[];
  /** Fields that requests to the provider must not have. */
  readonly refuseFields: readonly string[];
  readonly refuseHeaders: readonly RefusedHeader[];
  /** The service tier that the provider's headers set for requests without one. */
  readonly tierOfHeaders: string | undefined;
  /** Tools of the client's own host that translation leaves out. */
  readonly ignoreTools: readonly string[];
  /** Whether its hosts store responses, each for the key that created it. */
  readonly keepsResponses: boolean;
  /** Whether another provider uses one of its addresses and stores responses there. */
  readonly sharesKeeper: boolean;
  /** The dialects of its hosts. */
  readonly dialects: readonly DialectName[];
  /** The missing environment variable without which the provider is inactive; undefined if it is active. */
  readonly missingVariable: string | undefined;
}

/** One address of a provider, with its own credential. */
export interface UpstreamConfig {
  /** The provider's name, followed by `#1`, `#2` and so on if it has several upstreams. */
  readonly name: string;
  readonly baseUrl: string;
  /** The address as written in the file: an expanded reference may be a secret. */
  readonly shownBaseUrl: string;
  readonly apiKey: string | undefined;
  /** Its share of the requests, relative to the other weights. */
  readonly weight: number;
  /** The missing environment variable without which it is inactive; undefined if it is active. */
  readonly missingVariable: string | undefined;
}

export interface HttpProviderConfig extends ProviderBase {
  readonly kind: 'openai' | 'azure' | 'anthropic' | 'gemini' | 'bedrock' | 'vertex';
  /** The region of a provider of kind `bedrock`. */
  readonly region?: string | undefined;
  /** The project of a provider of kind `vertex`. */
  readonly project?: string | undefined;
  /** The form of the credential in requests. */
  readonly auth: AuthScheme;
  /** At least one. */
  readonly upstreams: readonly UpstreamConfig[];
  /** The proxy for requests to the upstreams; undefined for direct connections. */
  readonly proxy: HttpProxy | undefined;
  /** The proxy's address for display: without credentials, and with references unexpanded. */
  readonly shownProxy: string | undefined;
  /** Headers to add to every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streamed requests ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
  /** After the client has left: abort the response, or read it to its end for its usage. */
  readonly onDisconnect: 'abort' | 'drain';
}

export interface MockProviderConfig extends ProviderBase {
  readonly kind: 'mock';
}

export type ProviderConfig = HttpProviderConfig | MockProviderConfig;

/** False for a provider or upstream that is skipped because its environment variable is not set. */
export function isActive({ missingVariable }: ProviderConfig | UpstreamConfig): boolean {
  return missingVariable === undefined;
}

/** The address at which Prometheus reads metrics. */
export interface MetricsConfig {
  readonly listen: ListenAddress;
  /** The number of keys with separate labels. */
  readonly keyLabels: number;
  /** Host names of this machine that requests for metrics may use. */
  readonly hosts: readonly string[];
}

/** The files of the listener's certificate and its private key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The price file that the config includes. */
export interface PriceFileSummary {
  readonly path: string;
  /** The time at which it was written; undefined if it was not read. */
  readonly importedAt: string | undefined;
  /** The number of models with a price in it. */
  readonly models: number;
}

/** The export of traces. */
export interface OtelConfig {
  /** The address of the collector, with the path for spans. */
  readonly url: string;
  /** Headers to add to every export. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the resource of all spans. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The recorded share of requests whose clients have not made a sampling decision. */
  readonly sampleRatio: number;
}

export interface Config {
  /** The file that was read; undefined if the defaults apply without one. */
  readonly path: string | undefined;
  readonly listen: ListenAddress;
  /** Undefined for plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** The number of workers that serve requests. */
  readonly threads: number;
  readonly state: StateLocation;
  /** The location of the state for display. */
  readonly statePath: string;
  /** The file of the response cache, which is created with its first entry. */
  readonly cachePath: string;
  /** The name of this gateway among the gateways of a shared state. */
  readonly node: string;
  readonly tierName: string;
  readonly tier: Limits;
  readonly creditEnforced: boolean;
  /** The durability of a commit: `full` survives a power failure, `crash` only a crash of the process. */
  readonly durability: Durability;
  /** Undefined if the config includes no price file. */
  readonly prices: PriceFileSummary | undefined;
  /** The retention time of journal rows; undefined to keep them forever. */
  readonly journalRetentionMs: number | undefined;
  readonly maxBodyBytes: number;
  /** The limit for all workers together. */
  readonly maxConnections: number;
  /** The limit of connections from one other machine, for all workers together; undefined for no limit. */
  readonly maxPerSource: number | 'half' | undefined;
  /** The additional address for health checks; undefined without one. */
  readonly health: ListenAddress | undefined;
  /** The marks above which new requests are refused; undefined for no mark. */
  readonly overload: { readonly loopDelayMs: number | undefined; readonly memoryBytes: number | undefined };
  readonly capOutput: boolean;
  /** `idleMs` also limits how long a client may leave a stream unread. */
  readonly timeouts: Timeouts;
  readonly retry: RetryPolicy;
  /** The origins of web pages that may use the gateway, `*` for all; undefined for no origin. */
  readonly corsOrigins: readonly string[] | undefined;
  /** Undefined without metrics. */
  readonly metrics: MetricsConfig | undefined;
  /** The targets of alerts. */
  readonly alerts: readonly AlertTarget[];
  /** Undefined without traces. */
  readonly otel: OtelConfig | undefined;
  /** The silence of a started stream after which a comment is sent, in milliseconds; undefined to send no comments. */
  readonly streamKeepAliveMs: number | undefined;
  readonly logLevel: string;
  readonly providers: readonly ProviderConfig[];
  /** The models of aliases. One `*` in a name matches any text without a slash. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Warnings about the file, which each name the field. */
  readonly warnings: readonly string[];
  /** The time of the file's last change in seconds since 1970: the `created` of its models. */
  readonly modifiedAtS: number;
}
