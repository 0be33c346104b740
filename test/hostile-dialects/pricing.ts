/** What the truthful host's model costs, and the config that says so. */
import { HOST_MODELS, LONG_INPUT_TOKENS, SERVICE_TIERS, SPECIAL_PRICES } from '../hostile/pricing.ts';
import { DEFAULT_OUTPUT } from '../hostile/site.ts';
import type { HostBill } from './dialogue.ts';

/** The most tokens of an answer, whatever a request asks for. */
export const MAX_OUTPUT = 64_000;
/** The host's name for most of its models: what differs are the terms of the gateway. */
const HOST_MODEL = 'vendor-cheap';
/** This one costs twice as much for all of a request with a long input. */
const LONG_MODEL = 'vendor-long';
const LONG_FACTOR = 2;
const { input, output } = HOST_MODELS[HOST_MODEL] as { input: number; output: number };
/** Nanodollars for a token that is written to a prompt cache, and for a search. */
const CACHE_WRITE = { '5m': SPECIAL_PRICES.cacheWrite, '1h': 2 * SPECIAL_PRICES.cacheWrite };
const SEARCH = 10_000_000;

/** Nanodollars. */
export function costOf(bill: HostBill): number {
  const inputPrice = bill.cached === undefined ? input : CACHE_WRITE[bill.cached];
  const isLong = bill.model === LONG_MODEL && bill.inputTokens > LONG_INPUT_TOKENS;
  const factor = (SERVICE_TIERS[bill.serviceTier ?? ''] ?? 1) * (isLong ? LONG_FACTOR : 1);
  return factor * (bill.inputTokens * inputPrice + bill.outputTokens * output) + bill.searches * SEARCH;
}

/** USD per million tokens, by nanodollars per token. */
const usd = (nanos: number) => nanos / 1_000;
const priced = (factor: number) => ({ input: usd(factor * input), output: usd(factor * output) });
const writes = (factor: number) => ({
  cache_write: usd(factor * CACHE_WRITE['5m']),
  cache_write_1h: usd(factor * CACHE_WRITE['1h']),
});
const tools = { web_search: SEARCH / 1e9 };
const terms = { upstream: HOST_MODEL, ...priced(1), max_output: MAX_OUTPUT, default_output: DEFAULT_OUTPUT };
const tooled = {
  ...terms,
  tools,
  service_tiers: { priority: { ...priced(2), ...writes(2) }, flex: { ...priced(0.5), ...writes(0.5) } },
};

/**
 * The models of a provider: `growing` begins its streams with little, `tooled` has prices for all
 * that can be asked for, `caching` for what is written to a cache, `long` for long inputs.
 */
export const MODELS = {
  cheap: terms,
  growing: { ...terms, hold_output: DEFAULT_OUTPUT },
  tooled,
  caching: { ...terms, ...writes(1) },
  long: { ...terms, upstream: LONG_MODEL, above: { tokens: LONG_INPUT_TOKENS, ...priced(LONG_FACTOR) } },
};

/** The same for a host of messages, which has prices for its cache in any case. */
export const MESSAGES_MODELS = Object.fromEntries(
  Object.entries(MODELS).map(([name, model]) => [name, { ...model, ...writes(1) }]),
);

export type ModelName = keyof typeof MODELS;
