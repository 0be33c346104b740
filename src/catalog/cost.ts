/** What requests cost, and what is held for them. Pure. */
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { costRoundedUp, type Nanos } from '../core/money.ts';
import type { TokenUsage, UsageParts } from '../core/usage.ts';

/** The tiers at which every model has its ordinary prices. */
const ORDINARY_TIERS: readonly string[] = ['auto', 'default'];

/** Whether requests to a model may name a service tier: one that changes its prices must have prices in the config. */
export function hasPriceFor(model: ModelTerms, serviceTier: string | undefined): boolean {
  return serviceTier === undefined || ORDINARY_TIERS.includes(serviceTier) || model.serviceTiers.has(serviceTier);
}

/**
 * The prices of a request. `served` is the service tier that the host says it used, which counts where it has prices;
 * otherwise the one that was requested does.
 */
export function pricesFor(model: ModelTerms, requested: string | undefined, served?: string): Prices {
  const tier = served !== undefined && hasPriceFor(model, served) ? served : requested;
  return (tier === undefined ? undefined : model.serviceTiers.get(tier)) ?? model;
}

const NO_PARTS: UsageParts = { cacheWriteTokens: 0, audioInputTokens: 0, audioOutputTokens: 0 };

/** The cost of a request. The sum is rounded up once, to the nanodollar. */
export function usageCost(prices: Prices, usage: TokenUsage): Nanos {
  const { promptTokens, cachedTokens, completionTokens, parts = NO_PARTS } = usage;
  const { cacheWriteTokens, audioInputTokens, audioOutputTokens } = parts;
  const { input, cachedInput, output, cacheWrite, audioInput, audioOutput } = atLength(prices, promptTokens);
  const textTokens = promptTokens - cachedTokens - cacheWriteTokens - audioInputTokens;
  return costRoundedUp([
    { tokens: textTokens, nanosPerMillion: input },
    { tokens: cachedTokens, nanosPerMillion: cachedInput },
    { tokens: cacheWriteTokens, nanosPerMillion: cacheWrite },
    { tokens: audioInputTokens, nanosPerMillion: audioInput },
    { tokens: completionTokens - audioOutputTokens, nanosPerMillion: output },
    { tokens: audioOutputTokens, nanosPerMillion: audioOutput },
  ]);
}

/** An estimate may be this much below the real count. */
const LEAST_ESTIMATE = 0.9;

/**
 * What to hold for a request: its cost if all of its input had the highest price that input can have. `hasAudio`: whether
 * its input or output may be audio.
 */
export function expectedCost(prices: Prices, inputTokens: number, outputTokens: number, hasAudio: boolean): Nanos {
  const { input, output, cacheWrite, audioInput, audioOutput } = atLength(prices, inputTokens / LEAST_ESTIMATE);
  return costRoundedUp([
    { tokens: inputTokens, nanosPerMillion: highest(input, cacheWrite, hasAudio ? audioInput : input) },
    { tokens: outputTokens, nanosPerMillion: highest(output, hasAudio ? audioOutput : output) },
  ]);
}

/** Whether a request to the model can cost nothing. */
export function mayBeFree(model: ModelTerms): boolean {
  return [model, ...model.serviceTiers.values()].some((prices) => expectedCost(prices, 1, 1, false) === 0n);
}

/** The prices of a request with so many input tokens. */
function atLength(prices: Prices, inputTokens: number): Prices {
  const { above } = prices;
  if (above === undefined || inputTokens <= above.tokens) return prices;
  const { input, cachedInput, output } = above;
  return {
    ...prices,
    input,
    cachedInput,
    output,
    cacheWrite: highest(prices.cacheWrite, input),
    audioInput: highest(prices.audioInput, input),
    audioOutput: highest(prices.audioOutput, output),
  };
}

function highest(first: Nanos, ...others: readonly Nanos[]): Nanos {
  return others.reduce((most, each) => (each > most ? each : most), first);
}
