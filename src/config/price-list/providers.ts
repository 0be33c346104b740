/** Matches entries of the price list with the providers of the config. Pure. */

import { isClaudeAtVertex } from '../../core/vertex.ts';
import type { ProviderConfig } from '../config.ts';
import { isBilledForCacheWrites } from '../models.ts';
import type { PriceEntry, PriceTable } from '../price-file.ts';
import { modelName } from '../price-schema.ts';
import { judge, SKIP_REASONS, type SkipReason } from './judge.ts';
import type { ListEntry } from './list.ts';

/** The value of `litellm_provider` for these hosts. A leading dot matches any subdomain. */
const HOSTS: readonly (readonly [host: string, ...names: string[]])[] = [
  ['api.openai.com', 'openai'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gemini'],
  ['api.groq.com', 'groq'],
  ['api.mistral.ai', 'mistral'],
  ['api.deepseek.com', 'deepseek'],
  ['api.x.ai', 'xai'],
  ['openrouter.ai', 'openrouter'],
  ['.openai.azure.com', 'azure'],
  ['.services.ai.azure.com', 'azure_ai'],
  ['.amazonaws.com', 'bedrock', 'bedrock_converse'],
  ['api.together.xyz', 'together_ai'],
  ['api.fireworks.ai', 'fireworks_ai', 'fireworks_ai-embedding-models'],
  ['api.deepinfra.com', 'deepinfra'],
  ['api.cerebras.ai', 'cerebras'],
  ['api.moonshot.ai', 'moonshot'],
  ['api.perplexity.ai', 'perplexity'],
];

/** The same by kind of provider. For Vertex AI: Google's models, and Claude. */
const KINDS: ReadonlyMap<ProviderConfig['kind'], readonly string[]> = new Map([
  ['azure', ['azure', 'azure_ai']],
  ['bedrock', ['bedrock', 'bedrock_converse']],
  ['vertex', ['vertex_ai', 'vertex_ai-language-models', 'vertex_ai-anthropic_models', 'vertex_ai-embedding-models']],
]);

/** Hosts whose model names contain no slash. A list entry with one is a variant. */
const FLAT: ReadonlySet<string> = new Set([
  ...['openai', 'anthropic', 'azure', 'bedrock', 'bedrock_converse', 'vertex_ai'],
]);

export interface Match {
  readonly provider: string;
  /** The list's names for the provider; empty if none was found. */
  readonly listed: readonly string[];
  readonly by: 'kind' | 'host' | 'name' | undefined;
}

/** The list's name for a provider: by its kind, its host, or its name in the config. */
function matchOf(provider: ProviderConfig, known: ReadonlySet<string>): Match {
  const { name } = provider;
  const ofKind = KINDS.get(provider.kind);
  if (ofKind !== undefined) return { provider: name, listed: ofKind, by: 'kind' };
  const byHost = provider.kind === 'mock' ? [] : provider.upstreams.map(({ baseUrl }) => namesAt(baseUrl));
  const listed = byHost.find((names) => names.length > 0);
  if (listed !== undefined) return { provider: name, listed, by: 'host' };
  const isNamed = provider.kind !== 'mock' && known.has(name);
  return isNamed ? { provider: name, listed: [name], by: 'name' } : { provider: name, listed: [], by: undefined };
}

function namesAt(address: string): readonly string[] {
  const host = URL.canParse(address) ? new URL(address).hostname : '';
  const [, ...names] = HOSTS.find(([known]) => (known.startsWith('.') ? host.endsWith(known) : host === known)) ?? [];
  return names;
}

export interface Selection {
  readonly prices: PriceTable;
  readonly matches: readonly Match[];
  /** The names of entries that were not imported. */
  readonly skipped: ReadonlyMap<SkipReason, readonly string[]>;
  /** The number of entries for providers that the config lacks. */
  readonly others: number;
}

/** The prices in a list for the providers of a config. */
export function selectPrices(list: ReadonlyMap<string, ListEntry>, providers: readonly ProviderConfig[]): Selection {
  const known = new Set([...list.values()].map(providerIn).filter((name) => name !== undefined));
  const matches = providers.map((provider) => matchOf(provider, known));
  const skipped = new Map<SkipReason, string[]>(reasons().map((reason) => [reason, []]));
  const prices = Object.fromEntries(
    providers.flatMap((provider, i) => {
      const models = modelsOf(provider, matches[i] as Match, list, skipped);
      return Object.keys(models).length === 0 ? [] : [[provider.name, models] as const];
    }),
  );
  const wanted = new Set(matches.flatMap(({ listed }) => listed));
  const others = [...list.values()].filter((entry) => !wanted.has(providerIn(entry) ?? '')).length;
  return { prices, matches, skipped, others };
}

function reasons(): SkipReason[] {
  return Object.keys(SKIP_REASONS) as SkipReason[];
}

function providerIn({ litellm_provider: name }: ListEntry): string | undefined {
  return typeof name === 'string' ? name : undefined;
}

function modelsOf(
  { kind, name: provider }: ProviderConfig,
  { listed }: Match,
  list: ReadonlyMap<string, ListEntry>,
  skipped: ReadonlyMap<SkipReason, string[]>,
): Record<string, PriceEntry> {
  const models = new Map<string, PriceEntry>();
  const skip = (reason: SkipReason, name: string) => skipped.get(reason)?.push(`${provider}: ${name}`);
  const doubtful = new Set<string>();
  for (const [key, fields] of list) {
    if (!listed.includes(providerIn(fields) ?? '')) continue;
    const name = nameAtHost(key, listed);
    if (name === undefined) skip('variant', key);
    else if (name === '*' || !modelName.safeParse(name).success) skip('name', key);
    else {
      const judgement = judge(fields, isBilledForCacheWrites({ kind }, name), bundlesSearch(name, listed));
      const earlier = models.get(name);
      if (!judgement.ok) skip(judgement.reason, key);
      else if (earlier !== undefined && !isSame(earlier, judgement.entry)) doubtful.add(name);
      else models.set(name, judgement.entry);
    }
  }
  for (const name of doubtful) {
    models.delete(name);
    skip('twice', name);
  }
  const isGoogles = (name: string) => kind === 'gemini' || (kind === 'vertex' && !isClaudeAtVertex(name));
  const entries = [...models].map(
    ([name, entry]) => [name, isGoogles(name) ? withGoogleSearch(entry) : entry] as const,
  );
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Google's tool has a separate name and one price per query, which only its own dialect reports. */
function withGoogleSearch({ tools: { web_search: search, ...tools }, ...entry }: PriceEntry): PriceEntry {
  if (search === undefined) return { ...entry, tools };
  const call = [search, ...search.variants].reduce((most, each) => (each.call > most ? each.call : most), 0n);
  return { ...entry, tools: { ...tools, google_search: { call, variants: [] } } };
}

/** The host's name for a model: the entry's name without the provider. Undefined for a variant. */
function nameAtHost(key: string, listed: readonly string[]): string | undefined {
  const prefix = listed.map((each) => `${each}/`).find((each) => key.startsWith(each));
  const name = prefix === undefined ? key : key.slice(prefix.length);
  const isVariant = name.includes('/') && (prefix === undefined || FLAT.has(prefix.slice(0, -1)));
  return isVariant || name.startsWith('ft:') ? undefined : name;
}

/** Models that always search. */
function bundlesSearch(name: string, listed: readonly string[]): boolean {
  return listed.includes('perplexity') || /(?:^|[-_])search(?:$|[-_])/.test(name);
}

function isSame(a: PriceEntry, b: PriceEntry): boolean {
  const text = (entry: PriceEntry) =>
    JSON.stringify(entry, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return text(a) === text(b);
}
