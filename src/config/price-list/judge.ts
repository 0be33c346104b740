/** Converts an entry of the price list to the fields of the config, or states why it is not imported. Pure. */
import type { InputKind } from '../../core/model-terms.ts';
import { type Nanos, tokenPriceRoundedUp } from '../../core/money.ts';
import type { PriceEntry } from '../price-file.ts';
import type { ParsedPrices, ParsedTool } from '../price-schema.ts';
import { Decimal, type ListEntry } from './list.ts';

/** The reasons for not importing entries, with their messages. */
export const SKIP_REASONS = {
  mode: 'is not a model for chat, responses, messages or embeddings',
  no_price: 'has no price per token for input and output',
  zero: 'has a price of zero, and nothing is served for free by accident',
  no_number: 'has a price that is negative or not a number',
  other_unit: 'is billed by character, second, image, page or request as well',
  special_tokens: 'has tokens of a kind that costs more than the gateway can tell: video, reasoning, citations',
  lengths: 'has prices by length that the config cannot say',
  search: 'bills a search with each request',
  cache_writes: 'lacks the price of cache writes for five minutes or an hour, which Claude has',
  variant: 'is a variant by region, size or speed, or a tuned model, under a name that its host does not have',
  name: 'has a name that no model can have here',
  twice: 'is listed twice with different prices',
} as const;

export type SkipReason = keyof typeof SKIP_REASONS;

export type Judgement =
  | { readonly ok: true; readonly entry: PriceEntry }
  | { readonly ok: false; readonly reason: SkipReason };

/** Embeddings have no output, and no price for it. */
const EMBEDDING = 'embedding';
const MODES: readonly unknown[] = [undefined, 'chat', 'responses', EMBEDDING];
/** Models of this mode with prices of text, such as Google's, return images in a chat. */
const IMAGES = 'image_generation';
const TIERS = ['priority', 'flex'] as const;
/** More than any model accepts; a larger number is an error in the list. */
const MAX_TOKENS = 1_000_000_000;

/** `billsCacheWrites`: whether cache writes have a separate price. `bundlesSearch`: whether each request is a search. */
export function judge(fields: ListEntry, billsCacheWrites: boolean, bundlesSearch: boolean): Judgement {
  const no = (reason: SkipReason): Judgement => ({ ok: false, reason });
  const prices = pricesIn(fields);
  if (!MODES.includes(fields.mode ?? undefined) && !isOfTextAndImages(fields, prices)) return no('mode');
  if (prices === undefined) return no('no_number');
  const isEmbedding = fields.mode === EMBEDDING;
  const input = prices.get('input_cost_per_token');
  const output = prices.get('output_cost_per_token') ?? (isEmbedding ? 0n : undefined);
  if (input === undefined || output === undefined) return no(hasOtherUnits(prices) ? 'other_unit' : 'no_price');
  if (input === 0n || (output === 0n && !isEmbedding)) return no('zero');
  if (hasOtherUnits(prices)) return no('other_unit');
  if (hasCostlierTokens(prices, output)) return no('special_tokens');
  if (bundlesSearch && searchTool(fields) !== undefined) return no('search');
  const base = pricesAt(prices, '', { input, output });
  if (base === undefined || Array.isArray(fields.tiered_pricing)) return no('lengths');
  const isComplete = (each: ParsedPrices) =>
    !billsCacheWrites || (each.cache_write !== undefined && each.cache_write_1h !== undefined);
  if (!isComplete(base)) return no('cache_writes');
  const search = searchTool(fields);
  const entry: PriceEntry = {
    ...base,
    tools: search === undefined ? {} : { web_search: search },
    service_tiers: tiersIn(prices, isComplete),
    context_window: tokensIn(fields.max_input_tokens),
    max_output: tokensIn(fields.max_output_tokens),
    reads: inputsIn(fields),
  };
  return { ok: true, entry };
}

function isOfTextAndImages({ mode }: ListEntry, prices: PriceFields | undefined): boolean {
  return mode === IMAGES && ['output_cost_per_token', 'output_cost_per_image_token'].every((name) => prices?.has(name));
}

/** The kinds of input that the list states for a model, by field name. */
const INPUTS: ReadonlyMap<string, InputKind> = new Map([
  ['supports_vision', 'image'],
  ['supports_pdf_input', 'pdf'],
  ['supports_audio_input', 'audio'],
  ['supports_video_input', 'video'],
]);

function inputsIn(fields: ListEntry): InputKind[] | undefined {
  const said = [...INPUTS].filter(([name]) => typeof fields[name] === 'boolean');
  return said.length === 0 ? undefined : said.flatMap(([name, kind]) => (fields[name] === true ? [kind] : []));
}

/** Cache writes with a longer lifetime: an hour at Anthropic, twelve hours at OpenAI. */
const LONG_WRITES = ['cache_creation_input_token_cost_above_1hr', 'cache_creation_input_token_cost_above_12hr'];

type PriceFields = ReadonlyMap<string, Nanos>;

/** All prices of an entry, in nanodollars per million; undefined if one is negative or not a number. */
function pricesIn(fields: ListEntry): PriceFields | undefined {
  const prices = new Map<string, Nanos>();
  for (const [name, value] of Object.entries(fields)) {
    if (!/(?:^|_)cost(?:_|$)/.test(name) || value === null || value === undefined) continue;
    // Search prices by context size are read separately.
    if (typeof value === 'object' && !(value instanceof Decimal)) continue;
    const nanos = value instanceof Decimal ? tokenPriceRoundedUp(value.text) : undefined;
    if (nanos === undefined || nanos < 0n) return undefined;
    prices.set(name, nanos);
  }
  return prices;
}

/** A price per image in addition to its token price is the same price for a typical image. */
function hasOtherUnits(prices: PriceFields): boolean {
  const isOfTokens = (name: string) =>
    /_per_(?:[a-z]+_)?token/.test(name) || (name.endsWith('_per_image') && (prices.get(`${name}_token`) ?? 0n) > 0n);
  return [...prices].some(
    ([name, nanos]) => nanos > 0n && /^(?:input|output)_cost_per_/.test(name) && !isOfTokens(name),
  );
}

/** The gateway cannot distinguish these tokens from others. */
function hasCostlierTokens(prices: PriceFields, output: Nanos): boolean {
  const is = (name: string, ordinary: Nanos) => (prices.get(name) ?? 0n) > ordinary;
  return (
    is('output_cost_per_video_token', output) ||
    is('output_cost_per_reasoning_token', output) ||
    is('citation_cost_per_token', 0n)
  );
}

/**
 * The prices whose names end in `suffix`, such as `_flex`. Undefined if the config cannot express their prices by length. An
 * optional price of zero is omitted: these tokens then cost as much as other input.
 */
function pricesAt(
  prices: PriceFields,
  suffix: string,
  { input, output }: { readonly input: Nanos; readonly output: Nanos },
): ParsedPrices | undefined {
  const optional = (name: string) => prices.get(name + suffix) || undefined;
  const result = {
    input,
    cached_input: optional('cache_read_input_token_cost'),
    output,
    cache_write: optional('cache_creation_input_token_cost'),
    cache_write_1h: LONG_WRITES.map(optional).find((price) => price !== undefined),
    audio_input: optional('input_cost_per_audio_token'),
    cached_audio_input: optional('cache_read_input_audio_token_cost'),
    audio_output: optional('output_cost_per_audio_token'),
    image_input: optional('input_cost_per_image_token'),
    image_output: optional('output_cost_per_image_token'),
    tools: {},
  };
  const lengths = lengthsIn(prices, suffix);
  const [length, ...others] = lengths;
  if (length === undefined) return { ...result, above: undefined };
  const at = (name: string) => optional(`${name}_above_${length}k_tokens`);
  const above = {
    tokens: length * 1_000,
    input: at('input_cost_per_token') ?? input,
    cached_input: at('cache_read_input_token_cost'),
    output: at('output_cost_per_token') ?? output,
  };
  // The gateway assumes that cache writes of long requests rise in the same ratio as their input.
  const fits = (base: Nanos | undefined, listed: Nanos | undefined) =>
    listed === undefined || listed * input <= (base ?? input) * above.input;
  const isSaid =
    others.length === 0 &&
    fits(result.cache_write, at('cache_creation_input_token_cost')) &&
    LONG_WRITES.every((name) => fits(result.cache_write_1h ?? result.cache_write, at(name)));
  return isSaid ? { ...result, above } : undefined;
}

/** The lengths from which prices change, in thousands of tokens. */
function lengthsIn(prices: PriceFields, suffix: string): readonly number[] {
  const pattern = new RegExp(`_above_(\\d+)k_tokens${suffix}$`);
  const lengths = [...prices].flatMap(([name, nanos]) => {
    const length = Number(pattern.exec(name)?.[1]);
    return nanos > 0n && length > 0 ? [length] : [];
  });
  return [...new Set(lengths)];
}

/** The tiers with separate prices. Requests for other tiers are refused. */
function tiersIn(prices: PriceFields, isComplete: (prices: ParsedPrices) => boolean): Record<string, ParsedPrices> {
  const tiers: Record<string, ParsedPrices> = {};
  for (const tier of TIERS) {
    const input = prices.get(`input_cost_per_token_${tier}`);
    const output = prices.get(`output_cost_per_token_${tier}`);
    if (!input || !output) continue;
    const found = pricesAt(prices, `_${tier}`, { input, output });
    if (found === undefined || !isComplete(found)) continue;
    tiers[tier] = found;
  }
  return tiers;
}

/** A search has the price of medium context size, which is the default. High size has a separate price. */
function searchTool({ search_context_cost_per_query: bySize }: ListEntry): ParsedTool | undefined {
  if (typeof bySize !== 'object' || bySize === null) return undefined;
  const prices = Object.entries(bySize).flatMap(([name, each]) => {
    const perMillion = each instanceof Decimal ? tokenPriceRoundedUp(each.text) : undefined;
    return perMillion === undefined || perMillion <= 0n ? [] : [{ name, nanos: (perMillion + 999_999n) / 1_000_000n }];
  });
  const costliest = (of: typeof prices) => of.reduce((most, { nanos }) => (nanos > most ? nanos : most), 0n);
  if (prices.length === 0) return undefined;
  const others = prices.filter(({ name }) => name !== 'search_context_size_high');
  const hasMedium = others.some(({ name }) => name === 'search_context_size_medium');
  const high = { ...HIGH, call: costliest(prices) } as ParsedTool['variants'][number];
  return { call: costliest(hasMedium ? others : prices), variants: [high] };
}

const HIGH: Readonly<Record<string, string>> = { search_context_size: 'high' };

function tokensIn(value: unknown): number | undefined {
  const tokens = value instanceof Decimal ? Number(value.text) : Number.NaN;
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= MAX_TOKENS ? tokens : undefined;
}
