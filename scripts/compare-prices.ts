/**
 * Compares the prices of the example config with LiteLLM's list of prices: `npm run compare:prices -- FILE`. FILE is
 * model_prices_and_context_window.json; the Python package `litellm` has a copy. Exits with 1 if they differ in anything that is
 * not known here.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config, ModelConfig, ProviderConfig } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load.ts';
import { SKIP_REASONS } from '../src/config/price-list/judge.ts';
import { readPriceList } from '../src/config/price-list/list.ts';
import { type Selection, selectPrices } from '../src/config/price-list/providers.ts';
import { writePriceFile } from '../src/config/price-list/write.ts';
import { UserError } from '../src/core/errors.ts';
import type { Prices } from '../src/core/model-terms.ts';
import { formatUsd } from '../src/core/money.ts';

/** A field that differs, as the config writes it. Undefined where one has none. */
export interface Difference {
  /** `<provider>/<model>`. */
  readonly model: string;
  readonly field: string;
  readonly config: string | undefined;
  readonly list: string | undefined;
}

/** Differences that are right. A star at the end of model or field stands for anything. */
export interface KnownDifference {
  readonly model: string;
  readonly field: string;
  readonly why: string;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Known differences that there are none of. */
  readonly stale: readonly KnownDifference[];
}

/** `list`: the text of the list. */
export function comparePrices(config: Config, list: string, known: readonly KnownDifference[]): Comparison {
  const selection = selectPrices(readPriceList(list, 'the list'), config.providers);
  const listed = withListedPrices(config, selection);
  const all = config.providers.flatMap((provider) =>
    provider.models.flatMap((model) => {
      const id = `${provider.name}/${model.name}`;
      const other = listed.get(id);
      return other === undefined ? missing(id, provider, model, selection) : differencesOf(id, model, other);
    }),
  );
  const isOf = (difference: Difference, each: KnownDifference) =>
    isLike(difference.model, each.model) && isLike(difference.field, each.field);
  return {
    differences: all.filter((difference) => !known.some((each) => isOf(difference, each))),
    stale: known.filter((each) => !all.some((difference) => isOf(difference, each))),
  };
}

function isLike(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The same models, with nothing but the prices of the list. */
function withListedPrices({ providers }: Config, { prices }: Selection): ReadonlyMap<string, ModelConfig> {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-prices-'));
  try {
    const path = join(directory, 'config.yaml');
    const priceFile = join(directory, 'prices.yaml');
    writePriceFile(priceFile, { importedAt: '2000-01-01T00:00:00Z', source: 'list', providers: prices });
    writeFileSync(path, JSON.stringify({ prices: priceFile, providers: Object.fromEntries(providers.map(unpriced)) }));
    const config = loadConfig({ path, environment: {}, directory });
    return new Map(
      config.providers.flatMap(({ name, models }) => models.map((model) => [`${name}/${model.name}`, model])),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function unpriced({ name, kind, models }: ProviderConfig): readonly [string, object] {
  const only = models.map((model) => [model.name, { upstream: model.upstream }] as const);
  const place = {
    ...(kind !== 'mock' && { base_url: 'http://127.0.0.1' }),
    ...((kind === 'bedrock' || kind === 'vertex') && { region: 'us-east-1' }),
    ...(kind === 'vertex' && { project: 'any' }),
  };
  return [name, { kind, ...place, models: Object.fromEntries(only) }];
}

function missing(
  id: string,
  provider: ProviderConfig,
  { upstream }: ModelConfig,
  { skipped }: Selection,
): Difference[] {
  if (provider.kind === 'mock') return [];
  const isNamed = (name: string) => name.startsWith(`${provider.name}: `) && name.endsWith(upstream);
  const reason = [...skipped].find(([, names]) => names.some(isNamed))?.[0];
  const list = reason === undefined ? undefined : `not comparable: it ${SKIP_REASONS[reason]}`;
  return [{ model: id, field: 'model', config: 'served', list }];
}

/** What the list says nothing of. */
const OUR_OWN: readonly (keyof ModelConfig)[] = [
  'name',
  'upstream',
  'pricesOf',
  'defaultOutput',
  'holdOutput',
  'ignoreFields',
  'fallback',
  'imageTokens',
  'maxSeconds',
  'remoteFiles',
];

function differencesOf(model: string, ours: ModelConfig, theirs: ModelConfig): Difference[] {
  const [config, list] = [ours, theirs].map(fieldsOf) as [ReadonlyMap<string, string>, ReadonlyMap<string, string>];
  return [...new Set([...config.keys(), ...list.keys()])]
    .filter((field) => config.get(field) !== list.get(field))
    .map((field) => ({ model, field, config: config.get(field), list: list.get(field) }));
}

/** As the config writes them: a price that is not set is that of ordinary input or output, and tools cost the same in all tiers. */
function fieldsOf(model: ModelConfig): ReadonlyMap<string, string> {
  const { serviceTiers, tools, ...terms } = model;
  const own = Object.entries(terms).filter(([name]) => !OUR_OWN.includes(name as keyof ModelConfig));
  // A tier that does not state its prices of long requests inherits them: a slip in those shows where they come from.
  const tiers = [...serviceTiers].flatMap(([name, { tools: _tools, above: _above, ...prices }]) =>
    leavesOf(`service_tiers.${name}.`, prices),
  );
  return new Map([
    ...leavesOf('', Object.fromEntries(own)),
    ...leavesOf('tools.', Object.fromEntries(Array.from(tools, ([name, { call }]) => [name, call]))),
    ...tiers,
  ]);
}

/** `above.cached_input` and its like. */
function leavesOf(prefix: string, fields: object): (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const path = prefix + name.replace(/[A-Z]|(?<=[a-z])\d/g, (letter) => `_${letter.toLowerCase()}`);
    if (typeof value === 'bigint') return isDefault(name, value, fields) ? [] : [[path, usd(value)] as const];
    if (typeof value === 'number') return [[path, String(value)] as const];
    return typeof value === 'object' && value !== null ? leavesOf(`${path}.`, value) : [];
  });
}

function isDefault(name: string, price: bigint, { input }: Partial<Prices>): boolean {
  return ['cachedInput', 'cacheWrite', 'cacheWrite1h'].includes(name) && price === input;
}

function usd(price: bigint): string {
  return formatUsd(price).replace(/\.?0+$/, '');
}

/** Where the example is right, and the list is not, or cannot say it. */
const KNOWN: readonly KnownDifference[] = [
  known('openai/gpt-5*', 'context_window', 'the list has the most input alone'),
  known('openai/gpt-6*', 'context_window', 'the list has the most input alone'),
  known('openai/gpt-5.4', 'tools.web_search', 'OpenAI lists one price for all models'),
  known('openai/gpt-4*', 'tools.web_search', 'the list has the price of the preview, or none'),
  known('openai/*', 'tools.web_search_preview', 'the list knows only one kind of search'),
  known('openai/*', 'tools.file_search', 'the list has no other tools'),
  known('openai/fast', 'context_window', 'the list has the most input alone'),
  known('anthropic/claude-haiku-4-5', 'tools.web_search', 'Anthropic lists one price for all models'),
  known('google/*', 'tools.web_search', 'Google bills every query of a search, and reports none in chat completions'),
  known('groq/*', 'tools.web_search', 'the search of Groq has another name'),
  known('openrouter/*', 'model', 'the list has no models of Anthropic at OpenRouter, which takes their own prices'),
];

function known(model: string, field: string, why: string): KnownDifference {
  return { model, field, why };
}

const EXAMPLE = fileURLToPath(new URL('../config.example.yaml', import.meta.url));

function main([file]: readonly string[]): void {
  if (file === undefined) throw new UserError('expected a file: npm run compare:prices -- FILE');
  const config = loadConfig({ path: EXAMPLE, environment: {}, directory: '/' });
  const { differences, stale } = comparePrices(config, readFileSync(file, 'utf8'), KNOWN);
  for (const { model, field, config: ours = '-', list = '-' } of differences) {
    console.log(`${model}  ${field}  here ${ours}  listed ${list}`);
  }
  for (const { model, field, why } of stale) console.log(`${model}  ${field}  is alike, and need not be known: ${why}`);
  if (differences.length + stale.length === 0) console.log(`No differences but ${KNOWN.length} known ones.`);
  else process.exitCode = 1;
}

if (import.meta.main) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
