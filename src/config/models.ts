/** Builds the models of the config from a parsed file and its price file. */
import { createHash } from 'node:crypto';
import { bedrockDialectsOf, isClaude } from '../core/bedrock.ts';
import type { CacheTerms } from '../core/cached-answers.ts';
import type { DialectName } from '../core/dialects.ts';
import type { LongContextPrices, Prices } from '../core/model-terms.ts';
import type { Nanos } from '../core/money.ts';
import { type PricedField, tierOfField } from '../core/price-tiers.ts';
import { isClaudeAtVertex, vertexDialectsOf } from '../core/vertex.ts';
import type { ModelConfig } from './config.ts';
import type { AddProblem } from './document.ts';
import { entriesOf, entryIn, type PriceEntry, type PriceSource } from './price-file.ts';
import { type ParsedPrices, PRICE_EXPECTED } from './price-schema.ts';
import type { ParsedProvider } from './schema.ts';
import { toolPrices, UNUSED_TOOLS } from './tool-prices.ts';
import { UNUSED_UNITS, unitPrices } from './unit-prices.ts';

/** Input of the mock provider is free unless it has a price. */
const MOCK_CONTEXT_WINDOW = 128_000;

/** The name that stands for every model of the provider with a price in the price file. */
export const WILDCARD = '*';

type Fields = ParsedProvider['models'][string];
/** The fields of a model with its prices, from the config or the price file. */
type PricedFields = Fields & Pick<PriceEntry, 'input' | 'output'>;

/** The fields of the entry for all models, which the price file does not contain. */
const WILDCARD_FIELDS: ReadonlySet<string> = new Set([
  ...[
    'tools',
    'default_output',
    'hold_output',
    'ignore_fields',
    'cache_points',
    'image_tokens',
    'max_seconds',
    'remote_files',
    'cache',
  ],
]);

export interface BuiltModels {
  readonly models: readonly ModelConfig[];
  /** The unserved models, with the reasons. */
  readonly warnings: readonly string[];
}

/** The models of a provider: those in the config, then those only in the price file. */
export function buildModels(
  provider: string,
  { models: listed, ...host }: ParsedProvider,
  prices: PriceSource,
  addProblem: AddProblem,
): BuiltModels {
  const models: ModelConfig[] = [];
  const warnings: string[] = [];
  const warn = (name: string, why: string) => warnings.push(`providers.${provider}.models.${name}: ${why}`);
  for (const [name, fields] of Object.entries(listed)) {
    if (name === WILDCARD) continue;
    const priced = pricedFields(provider, name, fields, prices, addProblem);
    if (priced === undefined) continue;
    if (priced === 'no_price') warn(name, 'it has no price, here or in the price file, so it is not served');
    else if (isComplete(host, name, priced, addProblem, warn)) models.push(toModel(name, priced, host));
  }
  const template = listed[WILDCARD];
  if (template === undefined) return { models, warnings };
  checkWildcard(template, prices, addProblem);
  const names = new Set(Object.keys(listed));
  const others = Object.entries(entriesOf(prices.file?.providers ?? {}, provider)).filter(([name]) => !names.has(name));
  if (others.length === 0 && prices.file !== undefined) warn(WILDCARD, 'no other model has a price in the price file');
  for (const [name, entry] of others) {
    const priced = { ...merged(entry, template), pricesOf: dayOf(prices) };
    if (isComplete(host, name, priced, addProblem, warn)) models.push(toModel(name, priced, host));
  }
  return { models, warnings };
}

/** The day from which the prices of a price file are. */
function dayOf({ file }: PriceSource): string | undefined {
  return file?.importedAt.slice(0, 10);
}

type Sourced = PricedFields & { readonly pricesOf: string | undefined; readonly isWithoutTokenPrices?: true };

/** Undefined if a problem was recorded. A price in the config overrides the price file. */
function pricedFields(
  provider: string,
  name: string,
  fields: Fields,
  prices: PriceSource,
  addProblem: AddProblem,
): Sourced | 'no_price' | undefined {
  const { input, output } = fields;
  if (input !== undefined && output !== undefined) return { ...fields, input, output, pricesOf: undefined };
  const hasUnits = fields.per !== undefined && input === undefined && output === undefined;
  if (prices.path === undefined && hasUnits) return withoutTokenPrices(fields);
  if (prices.path === undefined || input !== undefined || output !== undefined) {
    if (input === undefined) addProblem([name, 'input'], PRICE_EXPECTED);
    if (output === undefined) addProblem([name, 'output'], PRICE_EXPECTED);
    return undefined;
  }
  const entry = entryIn(prices.file?.providers ?? {}, provider, fields.upstream ?? name);
  if (entry === undefined) return hasUnits ? withoutTokenPrices(fields) : 'no_price';
  return { ...merged(entry, fields), pricesOf: dayOf(prices) };
}

/** A model billed by units alone. Requests billed by tokens are refused. */
function withoutTokenPrices(fields: Fields): Sourced {
  return { ...fields, input: 0n, output: 0n, isWithoutTokenPrices: true, pricesOf: undefined };
}

/** Each field in the config overrides the same field of the price file. */
function merged(entry: PriceEntry, fields: Fields): PricedFields {
  const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
  const { input, output } = entry;
  return {
    ...entry,
    ...set,
    input,
    output,
    tools: { ...entry.tools, ...fields.tools },
    service_tiers: { ...entry.service_tiers, ...fields.service_tiers },
  };
}

function checkWildcard(template: Fields, prices: PriceSource, addProblem: AddProblem): void {
  if (prices.path === undefined) {
    addProblem(
      [WILDCARD],
      'expected a price file, whose models are served: set `prices: ./prices.yaml` at the top level',
    );
  }
  for (const [field, value] of Object.entries(template)) {
    const isEmpty = value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
    if (isEmpty || WILDCARD_FIELDS.has(field)) continue;
    addProblem(
      [WILDCARD, field],
      `expected only ${[...WILDCARD_FIELDS].join(', ')}: the rest is in the price file; list the model by its name to change it`,
    );
  }
}

/** Whether writing to the cache has a separate price. */
export function isBilledForCacheWrites({ kind }: Pick<ParsedProvider, 'kind'>, model: string): boolean {
  if (kind === 'vertex') return isClaudeAtVertex(model);
  return kind === 'anthropic' || (kind === 'bedrock' && isClaude(model));
}

/**
 * Whether the prices are complete. For kind `anthropic`, cache writes must not default to the price of input, which would be
 * too low.
 */
function isComplete(
  host: Omit<ParsedProvider, 'models'>,
  name: string,
  fields: Sourced,
  addProblem: AddProblem,
  warn: (name: string, why: string) => void,
): boolean {
  if (fields.remote_files !== undefined && fields.context_window === undefined) {
    addProblem([name, 'remote_files'], 'expected context_window beside it, which is held for what cannot be seen');
    return false;
  }
  if (!isBilledForCacheWrites(host, fields.upstream ?? name)) return true;
  const tiers = TIER_FIELDS.flatMap((field) =>
    Object.entries(fields[field]).map(([tier, prices]) => ({ path: [name, field, tier], prices })),
  );
  const missing = [{ path: [name], prices: fields as ParsedPrices }, ...tiers].flatMap(({ path, prices }) =>
    (['cache_write', 'cache_write_1h'] as const)
      .filter((field) => prices[field] === undefined)
      .map((field) => ({ path, field })),
  );
  if (missing.length > 0 && fields.pricesOf !== undefined) {
    const names = [...new Set(missing.map(({ field }) => field))].join(' and ');
    warn(name, `it is not served, since the price file has no ${names} for it`);
    return false;
  }
  for (const { path, field } of missing) {
    const why = `expected ${field}: a provider of kind ${host.kind} bills what is written to its cache at a price of its own`;
    addProblem(path, why);
  }
  return missing.length === 0;
}

/** Undefined if the host has the same dialects for all its models. */
function dialectsOf(
  model: string,
  { kind, dialects }: Omit<ParsedProvider, 'models'>,
): readonly DialectName[] | undefined {
  if (kind === 'vertex') return vertexDialectsOf(model, dialects);
  return kind === 'bedrock' ? bedrockDialectsOf(model, dialects) : undefined;
}

function toModel(name: string, fields: Sourced, host: Omit<ParsedProvider, 'models'>): ModelConfig {
  const { kind } = host;
  const contextWindow = fields.context_window ?? (kind === 'mock' ? MOCK_CONTEXT_WINDOW : undefined);
  const prices = kind === 'mock' ? withAudio(toPrices(fields, contextWindow)) : toPrices(fields, contextWindow);
  const tools = kind === 'mock' ? new Map([...UNUSED_TOOLS, ...UNUSED_UNITS, ...prices.tools]) : prices.tools;
  // A tier changes the prices of tokens. Calls of tools keep their price unless the tier has its own.
  const tierPrices = (tier: ParsedPrices): Prices => {
    const own = toPrices(tier, contextWindow);
    const inherited = { ...mediaOfTier(prices, own), above: own.above ?? aboveOfTier(prices, own) };
    return { ...own, ...inherited, tools: new Map([...tools, ...own.tools]) };
  };
  return {
    name,
    upstream: fields.upstream ?? name,
    dialects: dialectsOf(fields.upstream ?? name, host),
    ...prices,
    ...(fields.isWithoutTokenPrices && { isWithoutTokenPrices: true }),
    pricesOf: fields.pricesOf,
    tools,
    serviceTiers: new Map(tiersIn(fields).map(([name, tier]) => [name, tierPrices(tier)])),
    reads: fields.reads,
    contextWindow,
    imageTokens: fields.image_tokens,
    maxSeconds: fields.max_seconds ?? usualMaxSeconds(fields.upstream ?? name),
    remoteFiles: fields.remote_files !== undefined,
    maxOutput: fields.max_output,
    defaultOutput: Math.min(fields.default_output, fields.max_output ?? fields.default_output),
    fallback: fields.fallback,
    holdOutput: fields.hold_output,
    ignoreFields: fields.ignore_fields,
    setsCachePoints: fields.cache_points === 'on',
    cache: cacheTerms(fields, host),
  };
}

/** OpenAI refuses files longer than 1,500 seconds for these models. */
const SHORT_TRANSCRIPTS = { names: /gpt-4o.*transcribe/i, seconds: 1_500 };
/** Ten hours: no host documents a longer maximum. */
const MAX_SECONDS = 36_000;

function usualMaxSeconds(upstream: string): number {
  return SHORT_TRANSCRIPTS.names.test(upstream) ? SHORT_TRANSCRIPTS.seconds : MAX_SECONDS;
}

const TIER_FIELDS = ['service_tiers', 'speeds', 'inference_geos'] as const;

/**
 * The prices by service tier, and by the values of other fields that change prices, under the names of the fields in
 * requests.
 */
function tiersIn({
  service_tiers: tiers,
  speeds,
  inference_geos: geos,
}: Fields): [name: string, prices: ParsedPrices][] {
  const named = (field: PricedField, values: Fields['speeds']) =>
    Object.entries(values).map(([value, prices]): [string, ParsedPrices] => [tierOfField(field, value), prices]);
  return [...Object.entries(tiers), ...named('speed', speeds), ...named('inference_geo', geos)];
}

/** Audio of the mock provider is priced like its texts. */
function withAudio({ audioInput, audioOutput, ...prices }: Prices): Prices {
  const { input, output } = prices;
  return { ...prices, audioInput: audioInput ?? input, audioOutput: audioOutput ?? output };
}

/** Cached responses are found only with the same model and provider: another one might have answered differently. */
function cacheTerms({ cache, ...fields }: Sourced, host: Omit<ParsedProvider, 'models'>): CacheTerms | undefined {
  if (cache === undefined) return undefined;
  const text = JSON.stringify([host, fields], (_, value) => (typeof value === 'bigint' ? String(value) : value));
  const fingerprint = createHash('sha256').update(text).digest('hex');
  const keyIds = cache.keys && new Set(cache.keys);
  return { ttlMs: cache.ttl, maxBytes: cache.max, isShared: cache.shared, keyIds, fingerprint };
}

/**
 * The prices of long requests in a tier that does not specify them: in the same ratio to the tier's prices as in the
 * ordinary tier, and at least the ordinary long price, since not every vendor offers the tier for long requests.
 */
function aboveOfTier({ above, ...ordinary }: Prices, tier: Prices): LongContextPrices | undefined {
  if (above === undefined) return undefined;
  const price = (kind: OrdinaryKind) => scaledToTier(above[kind], ordinary[kind], tier[kind]);
  return { tokens: above.tokens, input: price('input'), cachedInput: price('cachedInput'), output: price('output') };
}

type OrdinaryKind = 'input' | 'cachedInput' | 'output';

/** The ordinary price to which each price of audio and images is relative. */
const MEDIA_KINDS = {
  audioInput: 'input',
  // A tier without a price for cached input would raise this price by the ratio of the discount.
  cachedAudioInput: 'input',
  audioOutput: 'output',
  imageInput: 'input',
  imageOutput: 'output',
} as const satisfies Partial<Record<keyof Prices, OrdinaryKind>>;

/** The same for prices of audio and images. */
function mediaOfTier(ordinary: Prices, tier: Prices): Partial<Prices> {
  const prices = Object.entries(MEDIA_KINDS).map(([name, kind]) => {
    const [own, listed] = [tier, ordinary].map((each) => each[name as keyof typeof MEDIA_KINDS]);
    return [name, own ?? (listed && scaledToTier(listed, ordinary[kind], tier[kind]))];
  });
  return Object.fromEntries(prices);
}

/** A price in the ratio of the tier's price to the ordinary one, rounded up, and never lower than before. */
function scaledToTier(price: Nanos, ordinary: Nanos, tier: Nanos): Nanos {
  const scaled = ordinary === 0n ? tier : (tier * price + ordinary - 1n) / ordinary;
  return scaled > price ? scaled : price;
}

/**
 * Cached audio and images cost as much as other input unless they have a price. Output of audio and images needs a price.
 */
function toPrices({ above, ...fields }: ParsedPrices, contextWindow: number | undefined): Prices {
  return {
    input: fields.input,
    cachedInput: fields.cached_input ?? fields.input,
    output: fields.output,
    cacheWrite: fields.cache_write ?? fields.input,
    cacheWrite1h: fields.cache_write_1h ?? fields.cache_write ?? fields.input,
    tools: new Map([...toolPrices(fields.tools, contextWindow), ...unitPrices(fields.per)]),
    audioInput: fields.audio_input,
    cachedAudioInput: fields.cached_audio_input ?? fields.audio_input,
    audioOutput: fields.audio_output,
    imageInput: fields.image_input,
    imageOutput: fields.image_output,
    above: above && {
      tokens: above.tokens,
      input: above.input,
      cachedInput: above.cached_input ?? above.input,
      output: above.output,
    },
  };
}
