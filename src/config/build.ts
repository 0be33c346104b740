/** Builds the config from a parsed file: expands references, resolves paths, and checks rules that span several fields. */

import { resolve } from 'node:path';
import { formatAddress, type ListenAddress } from '../core/address.ts';
import { bedrockAddress } from '../core/bedrock.ts';
import {
  type AuthScheme,
  BEDROCK_DIALECTS,
  DIALECT_NAMES,
  type DialectName,
  MOCK_DIALECTS,
  VERTEX_DIALECTS,
} from '../core/dialects.ts';
import type { Limits } from '../core/limits.ts';
import { BEDROCK_TIER_HEADER } from '../core/price-tiers.ts';
import { type HttpProxy, maskedProxy, parseProxy } from '../core/proxy.ts';
import type { UpstreamTimeouts } from '../core/settings.ts';
import { type StateLocation, showState } from '../core/state-location.ts';
import { vertexAddress } from '../core/vertex.ts';
import { buildAlerts } from './alerts.ts';
import type {
  Config,
  MetricsConfig,
  MockProviderConfig,
  ModelConfig,
  ProviderConfig,
  TlsFiles,
  UpstreamConfig,
} from './config.ts';
import type { AddProblem } from './document.ts';
import { faultOfHeaderName, faultOfHeaderValue } from './headers.ts';
import { buildModels } from './models.ts';
import { buildOtel } from './otel.ts';
import { type PriceSource, summaryOf } from './price-file.ts';
import {
  DEFAULT_TIER,
  type ParsedConfig,
  type ParsedHttpProvider,
  type ParsedProvider,
  type ParsedUpstream,
  PROXY_EXPECTED,
} from './schema.ts';
import { type Expanded, expandField, type ReferenceSource } from './secrets.ts';
import { buildNode, buildState } from './state.ts';

/** The origin of a config, and the base of its references and paths. */
export interface ConfigSource extends ReferenceSource {
  readonly path: string | undefined;
  readonly modifiedAtS: number;
  readonly prices: PriceSource;
  /** Warnings about the source itself. */
  readonly warnings: readonly string[];
}

/** Builds a config from a file of valid shape. If it records a problem, the result must not be used. */
export function buildConfig(parsed: ParsedConfig, source: ConfigSource, addProblem: AddProblem): Config {
  return new ConfigBuilder(parsed, source, addProblem).build();
}

/** A `proxy` in the file. */
interface ReadProxy {
  /** Undefined while its variable is not set. */
  readonly proxy: HttpProxy | undefined;
  readonly shown: string;
  readonly missingVariable: string | undefined;
}

class ConfigBuilder {
  readonly #parsed: ParsedConfig;
  readonly #source: ConfigSource;
  readonly #addProblem: AddProblem;
  readonly #warnings: string[];
  /** The proxy at the top level. */
  readonly #proxy: ReadProxy | undefined;

  constructor(parsed: ParsedConfig, source: ConfigSource, addProblem: AddProblem) {
    this.#parsed = parsed;
    this.#source = source;
    this.#warnings = [...source.warnings];
    this.#addProblem = addProblem;
    this.#proxy = parsed.proxy === undefined ? undefined : this.#readProxy(['proxy'], parsed.proxy);
  }

  build(): Config {
    const parsed = this.#parsed;
    const providers = withSharedKeepers(
      Object.entries(parsed.providers ?? {}).map(([name, provider]) => this.#provider(name, provider)),
    );
    const node = buildNode(parsed.node, parsed.listen, this.#source, (message) => this.#addProblem(['node'], message));
    const state = buildState(parsed.state, this.#source, (message) => this.#addProblem(['state'], message));
    return {
      path: this.#source.path,
      modifiedAtS: this.#source.modifiedAtS,
      listen: parsed.listen,
      tls: this.#tls(parsed),
      threads: parsed.threads,
      journalRetentionMs: unlessOff(parsed.journal_retention),
      prices: summaryOf(this.#source.prices),
      state,
      statePath: showState(state),
      cachePath: cachePath(state, node, this.#source.baseDirectory),
      node,
      tierName: parsed.tier,
      tier: this.#tier(),
      creditEnforced: parsed.credit === 'enforced',
      durability: parsed.durability,
      maxBodyBytes: parsed.max_body,
      maxConnections: parsed.max_connections,
      maxPerSource:
        parsed.max_connections_per_source === undefined ? 'half' : unlessOff(parsed.max_connections_per_source),
      health: this.#health(parsed),
      overload: { loopDelayMs: unlessOff(parsed.overload.loop_delay), memoryBytes: unlessOff(parsed.overload.memory) },
      capOutput: parsed.cap_output,
      timeouts: {
        connectMs: parsed.timeouts.connect,
        firstByteMs: parsed.timeouts.first_byte,
        idleMs: parsed.timeouts.idle,
        requestMs: parsed.timeouts.request,
        drainMs: parsed.timeouts.drain,
      },
      retry: parsed.retry,
      corsOrigins: this.#corsOrigins(parsed),
      metrics: this.#metrics(parsed),
      alerts: buildAlerts(parsed.alerts, this.#source, this.#addProblem, this.#warnings),
      otel: buildOtel(parsed.otel, this.#source, this.#addProblem, (text) => this.#warnings.push(text)),
      streamKeepAliveMs: typeof parsed.stream_keep_alive === 'number' ? parsed.stream_keep_alive : undefined,
      logLevel: parsed.log.level,
      providers,
      aliases: new Map(Object.entries(parsed.aliases)),
      warnings: this.#warnings,
    };
  }

  #tls({ tls }: ParsedConfig): TlsFiles | undefined {
    const { baseDirectory } = this.#source;
    return tls && { cert: resolve(baseDirectory, tls.cert), key: resolve(baseDirectory, tls.key) };
  }

  #corsOrigins({ cors }: ParsedConfig): readonly string[] | undefined {
    if (cors?.origins.includes('*')) {
      this.#warnings.push('cors.origins: * lets every web page use the gateway, with any key that it has or is given');
    }
    return cors?.origins;
  }

  #health({ health, listen }: ParsedConfig): ListenAddress | undefined {
    if (health !== undefined) this.#checkOther('health', health, { listen });
    return health;
  }

  #metrics({ metrics, listen, health }: ParsedConfig): MetricsConfig | undefined {
    if (metrics === undefined) return undefined;
    this.#checkOther('metrics', metrics.listen, { listen, health });
    return { listen: metrics.listen, keyLabels: metrics.key_labels, hosts: metrics.hosts };
  }

  /** Reports an address that another field uses as well. */
  #checkOther(field: string, address: ListenAddress, others: Record<string, ListenAddress | undefined>): void {
    for (const [name, other] of Object.entries(others)) {
      if (other === undefined || address.port === 0 || formatAddress(address) !== formatAddress(other)) continue;
      this.#addProblem([field], `expected an address of its own, other than \`${name}\``);
    }
  }

  #tier(): Limits {
    const tiers = { ...(this.#parsed.tiers ?? { standard: DEFAULT_TIER }) };
    const tier = Object.hasOwn(tiers, this.#parsed.tier) ? tiers[this.#parsed.tier] : undefined;
    if (tier === undefined) {
      this.#addProblem(['tier'], `expected one of the tiers: ${Object.keys(tiers).join(', ') || '(none configured)'}`);
    }
    const { rpm, tpm, concurrency, models_rpm } = tier ?? DEFAULT_TIER;
    return { rpm, tpm, concurrency, modelsRpm: models_rpm };
  }

  #provider(name: string, parsed: ParsedProvider): ProviderConfig {
    const base: MockProviderConfig = {
      kind: 'mock',
      name,
      timeouts: this.#timeouts(parsed),
      models: this.#models(name, parsed),
      refuseFields: [...parsed.refuse_fields, ...(isOfCloud(parsed.kind) ? OWN_FIELDS : [])],
      refuseHeaders: parsed.refuse_headers,
      tierOfHeaders: undefined,
      ignoreTools: parsed.ignore_tools,
      keepsResponses: false,
      sharesKeeper: false,
      dialects: parsed.dialects ?? DEFAULT_DIALECTS[parsed.kind],
      missingVariable: undefined,
    };
    if (parsed.kind === 'mock') return base;

    const headers: Record<string, string> = {};
    let missingVariable: string | undefined;
    for (const [header, text] of Object.entries(parsed.headers ?? {})) {
      const path = [name, 'headers', header];
      this.#headerName(name, header);
      const expanded = this.#expand(path, text);
      missingVariable ??= expanded.missingVariable;
      headers[header.toLowerCase()] = this.#headerValue(path, expanded.value);
    }
    if (parsed.auth === 'entra') this.#entra(name, parsed);
    const proxy = this.#proxyOf(name, parsed);
    // Without its proxy, a provider must not be reached directly.
    missingVariable ??= proxy?.missingVariable;
    const upstreams = this.#upstreams(name, parsed);
    if (parsed.kind === 'azure') this.#azureAddresses(name, parsed, upstreams);
    const dialects = parsed.dialects ?? dialectsAt(parsed.kind, upstreams);
    const isAnyActive = upstreams.some((upstream) => upstream.missingVariable === undefined);
    return {
      ...base,
      kind: parsed.kind,
      region: parsed.kind === 'bedrock' ? parsed.region : undefined,
      project: parsed.kind === 'vertex' ? parsed.project : undefined,
      dialects,
      keepsResponses: this.#keepsResponses(name, parsed, dialects),
      auth: parsed.auth ?? AUTH[parsed.kind],
      upstreams,
      headers,
      tierOfHeaders: parsed.kind === 'bedrock' ? headers[BEDROCK_TIER_HEADER] : undefined,
      proxy: proxy?.proxy,
      shownProxy: proxy?.shown,
      streamUsage: parsed.stream_usage === 'on',
      onDisconnect: parsed.on_disconnect,
      missingVariable: missingVariable ?? (isAnyActive ? undefined : upstreams[0]?.missingVariable),
    };
  }

  /** The proxy of a provider: its own, or the one at the top level. */
  #proxyOf(name: string, { proxy: own }: ParsedHttpProvider): ReadProxy | undefined {
    if (own === undefined) return this.#proxy;
    return own === false || own === 'off' ? undefined : this.#readProxy(['providers', name, 'proxy'], own);
  }

  #readProxy(path: PropertyKey[], address: string): ReadProxy {
    const report = (message: string) => this.#addProblem(path, message);
    const { value, missingVariable } = expandField(address, this.#source, report);
    const proxy = parseProxy(value);
    if (proxy === undefined && value !== '') report(PROXY_EXPECTED);
    return { proxy, shown: maskedProxy(address), missingVariable };
  }

  /** A token of Microsoft Entra takes the place of a key. */
  #entra(name: string, { kind, api_key, upstreams = [] }: ParsedHttpProvider): void {
    if (kind !== 'azure' && kind !== 'openai' && kind !== 'anthropic') {
      const why = 'expected entra only for a provider of kind azure, openai or anthropic';
      this.#addProblem(['providers', name, 'auth'], why);
    }
    const keys = [
      [api_key, 'api_key'] as const,
      ...upstreams.map((each, i) => [each.api_key, 'upstreams', i, 'api_key'] as const),
    ];
    for (const [key, ...path] of keys) {
      if (key !== undefined)
        this.#addProblem(['providers', name, ...path], 'expected none: with auth: entra the gateway asks for tokens');
    }
  }

  /**
   * Completes the address of a resource with the path of its API. Every other path there returns 404, and Azure shows
   * addresses without it.
   */
  #azureAddresses(name: string, parsed: ParsedHttpProvider, upstreams: readonly UpstreamConfig[]): void {
    for (const [i, { baseUrl, missingVariable }] of upstreams.entries()) {
      if (missingVariable !== undefined || !URL.canParse(baseUrl) || isAzurePath(new URL(baseUrl))) continue;
      const path = parsed.upstreams === undefined ? ['base_url'] : ['upstreams', i, 'base_url'];
      const forms = '…/openai/v1, or …/openai/deployments/{model}?api-version=2024-10-21';
      this.#addProblem(['providers', name, ...path], `expected an address with the path of Azure's API: ${forms}`);
    }
  }

  #keepsResponses(name: string, parsed: ParsedHttpProvider, dialects: readonly DialectName[]): boolean {
    if (parsed.responses_state === undefined) return false;
    if (!dialects.includes('responses')) {
      this.#addProblem(
        ['providers', name, 'responses_state'],
        'expected `responses` among the dialects of this provider',
      );
    }
    return true;
  }

  #models(name: string, parsed: ParsedProvider): readonly ModelConfig[] {
    const addProblem: AddProblem = (path, message) => this.#addProblem(['providers', name, 'models', ...path], message);
    const { models, warnings } = buildModels(name, parsed, this.#source.prices, addProblem);
    this.#warnings.push(...warnings);
    return models;
  }

  #upstreams(provider: string, parsed: ParsedHttpProvider): UpstreamConfig[] {
    const { api_key, upstreams } = parsed;
    const base_url = parsed.base_url ?? (upstreams === undefined ? addressOf(parsed) : undefined);
    if (upstreams === undefined) {
      if (base_url === undefined) {
        this.#addProblem(
          ['providers', provider, 'base_url'],
          'expected an address, or a list of upstreams with an address each',
        );
        return [];
      }
      return [this.#upstream(provider, [provider], { base_url, api_key, weight: 1 })];
    }
    for (const field of ['base_url', 'api_key'] as const) {
      const message = `set ${field} in each of the upstreams instead`;
      if (parsed[field] !== undefined) this.#addProblem(['providers', provider, field], message);
    }
    return upstreams.map((upstream, i) => {
      const name = upstreams.length === 1 ? provider : `${provider}#${i + 1}`;
      return this.#upstream(name, [provider, 'upstreams', i], upstream);
    });
  }

  #upstream(name: string, path: PropertyKey[], parsed: ParsedUpstream): UpstreamConfig {
    const address = this.#expand([...path, 'base_url'], parsed.base_url);
    const key = parsed.api_key === undefined ? undefined : this.#apiKey([...path, 'api_key'], parsed.api_key);
    return {
      name,
      baseUrl: this.#baseUrl([...path, 'base_url'], parsed.base_url, address),
      shownBaseUrl: parsed.base_url,
      apiKey: key && this.#headerValue([...path, 'api_key'], key.value),
      weight: parsed.weight,
      missingVariable: address.missingVariable ?? key?.missingVariable,
    };
  }

  /** Removes blanks around a key, which come from copying. No key contains them. */
  #apiKey(path: PropertyKey[], text: string): Expanded {
    const expanded = this.#expand(path, text);
    const value = expanded.value.trim();
    if (expanded.hadBlanks || value !== expanded.value) {
      this.#warnings.push(`${['providers', ...path].map(String).join('.')}: removed the blanks around the key`);
    }
    return { ...expanded, value };
  }

  /** Expands the references in a field of a provider. */
  #expand(path: PropertyKey[], text: string): Expanded {
    const addProblem = (message: string) => this.#addProblem(['providers', ...path], message);
    return expandField(text, this.#source, addProblem);
  }

  #timeouts(parsed: ParsedProvider): UpstreamTimeouts {
    const { connect, first_byte, idle } = { ...this.#parsed.timeouts, ...dropUndefined(parsed.timeouts ?? {}) };
    return { connectMs: connect, firstByteMs: first_byte, idleMs: idle };
  }

  /**
   * Checks an address. It may be incomplete if a variable is not set. It must not contain a password, since addresses are
   * shown.
   */
  #baseUrl(path: PropertyKey[], shown: string, { value, missingVariable }: Expanded): string {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.pathname.endsWith('/chat/completions')) {
      this.#addProblem(
        ['providers', ...path],
        'expected the address without /chat/completions, which the gateway appends',
      );
    }
    const hasUser = /\/\/[^/?#]*@/.test(shown) || (url !== undefined && (url.username !== '' || url.password !== ''));
    const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
    if (hasUser || (!isHttp && missingVariable === undefined)) {
      this.#addProblem(
        ['providers', ...path],
        'expected an address that begins with http:// or https:// and contains no password, such as https://api.openai.com/v1',
      );
    }
    return value;
  }

  #headerName(provider: string, header: string): void {
    const fault = faultOfHeaderName(header);
    if (fault !== undefined) this.#addProblem(['providers', provider, 'headers', header], fault);
  }

  #headerValue(field: PropertyKey[], value: string): string {
    const fault = faultOfHeaderValue(value);
    if (fault !== undefined) this.#addProblem(['providers', ...field], fault);
    return value;
  }
}

/** The default path next to the state file, or for a database next to the config, since each gateway has its own. */
function cachePath(state: StateLocation, node: string, baseDirectory: string): string {
  if (state.kind === 'file') return `${state.path}.cache`;
  return resolve(baseDirectory, `inf-gw-${node.replaceAll(/[^\w.-]/g, '-')}.cache`);
}

/** Accounts cannot be distinguished by their keys: one account may have several. */
function withSharedKeepers(providers: readonly ProviderConfig[]): ProviderConfig[] {
  const addressesOf = (provider: ProviderConfig) =>
    provider.kind === 'mock' ? [] : provider.upstreams.map(({ baseUrl }) => baseUrl.replace(/\/+$/, ''));
  const keeping = new Set(providers.filter(({ keepsResponses }) => keepsResponses).flatMap(addressesOf));
  return providers.map((provider) => ({
    ...provider,
    sharesKeeper: !provider.keepsResponses && addressesOf(provider).some((address) => keeping.has(address)),
  }));
}
/** The default authentication of each kind. */
const AUTH = {
  openai: 'bearer',
  azure: 'api-key',
  anthropic: 'x-api-key',
  gemini: 'x-goog-api-key',
  bedrock: 'bearer',
  vertex: 'x-goog-api-key',
} as const satisfies Readonly<Record<ParsedHttpProvider['kind'], AuthScheme>>;

/** The default address of each kind. */
function addressOf(parsed: ParsedHttpProvider): string | undefined {
  if (parsed.kind === 'gemini') return 'https://generativelanguage.googleapis.com/v1beta';
  if (parsed.kind === 'vertex') return vertexAddress(parsed.project, parsed.region);
  return parsed.kind === 'bedrock' ? bedrockAddress(parsed.region) : undefined;
}

function isOfCloud(kind: ParsedProvider['kind']): boolean {
  return kind === 'bedrock' || kind === 'vertex';
}

/** Fields that the gateway itself writes into bodies for Claude at these hosts. */
const OWN_FIELDS = ['anthropic_version'];

/** All dialects of OpenAI's formats. */
const OPENAI_DIALECTS = DIALECT_NAMES.filter((name) => !['messages', 'gemini', 'gemini_embeddings'].includes(name));

/** The default dialects of each kind. */
const DEFAULT_DIALECTS: Readonly<Record<ParsedProvider['kind'], readonly DialectName[]>> = {
  openai: OPENAI_DIALECTS,
  azure: OPENAI_DIALECTS.filter((name) => !['moderations', 'rerank'].includes(name)),
  anthropic: ['messages'],
  gemini: ['gemini', 'gemini_embeddings'],
  bedrock: BEDROCK_DIALECTS,
  vertex: VERTEX_DIALECTS,
  mock: MOCK_DIALECTS,
};

/** Default dialects by address: Azure has no responses below the path of a deployment. */
function dialectsAt(kind: ParsedHttpProvider['kind'], upstreams: readonly UpstreamConfig[]): readonly DialectName[] {
  const isDated = kind === 'azure' && upstreams.some(({ baseUrl }) => baseUrl.includes('/deployments/'));
  return isDated ? DEFAULT_DIALECTS.azure.filter((name) => name !== 'responses') : DEFAULT_DIALECTS[kind];
}

const AZURE_HOST = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/;

/** Whether the address is one of Azure's own. A proxy in front of it may use any path. */
function isAzurePath({ hostname, pathname, searchParams }: URL): boolean {
  return !AZURE_HOST.test(hostname) || /\/openai\/v1\/?$/.test(pathname) || searchParams.has('api-version');
}

/** YAML 1.2 reads `off` as a string, YAML 1.1 as false. */
function unlessOff(value: number | 'off' | false): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function dropUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as never;
}
