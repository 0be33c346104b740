/** What requests cost, and what is held for them. Pure. */
import type { HostTool, ToolCalls } from '../core/host-tools.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { costRoundedUp, type Nanos, type PricedTokens } from '../core/money.ts';
import { isUnit } from '../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { dearestCall, foundTokens, leastOf, toolsFor } from './tool-cost.ts';

/** The tiers at which every model has its ordinary prices. */
const ORDINARY_TIERS: readonly string[] = ['auto', 'default', 'standard', 'standard_only'];

/** Whether requests to a model may name a service tier: one that changes its prices must have prices in the config. */
export function hasPriceFor(model: ModelTerms, serviceTier: string | undefined): boolean {
  return serviceTier === undefined || ORDINARY_TIERS.includes(serviceTier) || model.serviceTiers.has(serviceTier);
}

/**
 * The prices of a request. `served` is the service tier that the host says it used, which counts where it has prices;
 * otherwise the one that was requested does.
 */
export function pricesFor(model: ModelTerms, requested: string | undefined, served?: string): Prices {
  const tier = tierOf(model, requested, served);
  return (tier === undefined ? undefined : model.serviceTiers.get(tier)) ?? model;
}

/** The service tier whose prices a request has; undefined for the ordinary ones. */
export function tierOf(model: ModelTerms, requested: string | undefined, served?: string): string | undefined {
  const tier = served !== undefined && hasPriceFor(model, served) ? served : requested;
  return tier !== undefined && model.serviceTiers.has(tier) ? tier : undefined;
}

/** The cost of a request that made these calls of tools. The sum is rounded up once, to the nanodollar. */
export function usageCost(prices: Prices, usage: TokenUsage, calls: readonly ToolCalls[] = []): Nanos {
  const { promptTokens, cachedTokens, completionTokens, parts = NO_PARTS } = usage;
  const { cacheWriteTokens, cacheWrite1hTokens, audioInputTokens, audioOutputTokens } = parts;
  const { input, cachedInput, output, cacheWrite, cacheWrite1h, audioInput, audioOutput } = pricesAtLength(
    prices,
    promptTokens,
  );
  const { imageInputTokens = 0, imageOutputTokens = 0 } = parts;
  const { imageInput = input, imageOutput = output } = prices;
  const ownInput = cacheWriteTokens + cacheWrite1hTokens + audioInputTokens + imageInputTokens;
  const priced: PricedTokens[] = [
    { tokens: promptTokens - cachedTokens - ownInput, nanosPerMillion: input },
    { tokens: cachedTokens, nanosPerMillion: cachedInput },
    { tokens: completionTokens - audioOutputTokens - imageOutputTokens, nanosPerMillion: output },
  ];
  if (parts !== NO_PARTS) {
    priced.push(
      { tokens: imageInputTokens, nanosPerMillion: imageInput },
      { tokens: imageOutputTokens, nanosPerMillion: imageOutput },
      { tokens: cacheWriteTokens, nanosPerMillion: cacheWrite },
      { tokens: cacheWrite1hTokens, nanosPerMillion: cacheWrite1h },
      { tokens: audioInputTokens, nanosPerMillion: audioInput },
      { tokens: audioOutputTokens, nanosPerMillion: audioOutput },
    );
  }
  for (const { count, of, reported } of calls) priced.push(callsOf(count, dearestCall(prices, of, reported).call));
  return costRoundedUp(priced);
}

/** What so many calls of a tool cost, in the terms of tokens. */
function callsOf(calls: number, nanosPerCall: Nanos): PricedTokens {
  return { tokens: calls * 1_000_000, nanosPerMillion: nanosPerCall };
}

/** An estimate of tokens is at least so much of a real count. */
export const LEAST_ESTIMATE = 0.9;

/** What a request may use besides text. */
export interface Extras {
  /** Whether its input or output may be audio. */
  readonly hasAudio: boolean;
  /** Whether its input or output are images, whose tokens may have prices of their own. */
  readonly hasImages?: true;
  /** How long its host may keep what it writes to its prompt cache; undefined if it writes nothing. */
  readonly cacheWrite: '5m' | '1h' | undefined;
  /** The host's own tools that it may call. */
  readonly hostTools: readonly HostTool[];
}

/** What to hold for a request: its cost if all of its input had the highest price that input can have. */
export function expectedCost(prices: Prices, inputTokens: number, outputTokens: number, extras: Extras): Nanos {
  const { hasAudio, hasImages, cacheWrite: lifetime, hostTools } = extras;
  const { imageInput = prices.input, imageOutput = prices.output } = hasImages ? prices : {};
  // What tools find is input, too.
  const found = foundTokens(prices, hostTools);
  const listed = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE + found);
  const { input, cachedInput, output, audioInput, audioOutput, cacheWrite: shortWrite, cacheWrite1h } = listed;
  const cacheWrite = lifetime === undefined ? input : lifetime === '5m' ? shortWrite : cacheWrite1h;
  const priced: PricedTokens[] = [
    {
      tokens: inputTokens + found,
      nanosPerMillion: highest(input, cacheWrite, hasAudio ? audioInput : input, imageInput),
    },
    { tokens: outputTokens, nanosPerMillion: highest(output, hasAudio ? audioOutput : output, imageOutput) },
  ];
  // After a call the host goes on from the beginning, which is in its cache if it has one.
  const readAgain = lifetime === undefined ? input : cachedInput;
  for (const tool of hostTools) {
    if (!isUnit(tool)) priced.push({ tokens: tool.calls * inputTokens, nanosPerMillion: readAgain });
    priced.push(callsOf(Math.max(tool.calls, leastOf(prices, [tool])), dearestCall(prices, [tool]).call));
  }
  return costRoundedUp(priced);
}

/** What a million tokens of output cost in a request with so many estimated tokens of input: of text, and of audio. */
export function outputPrices(prices: Prices, inputTokens: number): { readonly text: Nanos; readonly audio: Nanos } {
  const { output, audioOutput } = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE);
  return { text: output, audio: audioOutput };
}

/** Whether a request to the model can cost nothing. */
export function mayBeFree(model: ModelTerms): boolean {
  if (model.isWithoutTokenPrices) return [...model.tools.values()].some(({ call }) => call === 0n);
  const extras: Extras = { hasAudio: false, cacheWrite: undefined, hostTools: toolsFor(model, []) };
  return [model, ...model.serviceTiers.values()].some((prices) => expectedCost(prices, 1, 1, extras) === 0n);
}

/** The prices of a request with so many input tokens. */
export function pricesAtLength(prices: Prices, inputTokens: number): Prices {
  const { above } = prices;
  if (above === undefined || inputTokens <= above.tokens) return prices;
  const { input, cachedInput, output } = above;
  // What is written to a cache costs a multiple of other input, rounded up to the nanodollar.
  const scaled = (price: Nanos) =>
    prices.input === 0n ? highest(price, input) : highest(price, (price * input + prices.input - 1n) / prices.input);
  return {
    ...prices,
    input,
    cachedInput,
    output,
    cacheWrite: scaled(prices.cacheWrite),
    cacheWrite1h: scaled(prices.cacheWrite1h),
    audioInput: highest(prices.audioInput, input),
    audioOutput: highest(prices.audioOutput, output),
  };
}

function highest(first: Nanos, ...others: readonly Nanos[]): Nanos {
  return others.reduce((most, each) => (each > most ? each : most), first);
}
