/** What requests cost, and what is held for them. Pure. */
import { type HostTool, rereadsFor, type ToolCalls } from '../core/host-tools.ts';
import { type Media, type Modality, NO_MEDIA } from '../core/modalities.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { costRoundedUp, NANOS_PER_USD, type Nanos, type PricedTokens } from '../core/money.ts';
import { fieldOfTier, isOrdinaryTier, PRICED_FIELDS, valueOfTier } from '../core/price-tiers.ts';
import { isUnit } from '../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { dearestCall, foundTokens, leastOf, toolsFor } from './tool-cost.ts';

/** Whether requests to a model may name a service tier: one that changes its prices must have prices in the config. */
export function hasPriceFor(model: ModelTerms, serviceTier: string | undefined): boolean {
  return serviceTier === undefined || isOrdinaryTier(serviceTier) || model.serviceTiers.has(serviceTier);
}

/**
 * The prices of a request. `served` is the service tier that the host says it used, which counts where it has prices;
 * otherwise the one that was requested does.
 */
export function pricesFor(model: ModelTerms, requested: string | undefined, served?: string): Prices {
  const tier = tierOf(model, requested, served);
  return (tier === undefined ? undefined : model.serviceTiers.get(tier)) ?? model;
}

/**
 * The service tier whose prices a request has; undefined for the ordinary ones. `served`: as the host reports it, with the
 * values of priced fields behind it, each after a space.
 */
export function tierOf(model: ModelTerms, requested: string | undefined, served?: string): string | undefined {
  const reported = served?.split(' ') ?? [];
  const priced = reported.filter((tier) => model.serviceTiers.has(tier));
  if (priced.length > 0) return priced.reduce((a, b) => (outputOf(model, b) > outputOf(model, a) ? b : a));
  if (requested === undefined || !model.serviceTiers.has(requested)) return undefined;
  const isOrdinary = (tier: string) => fieldOfTier(tier) === fieldOfTier(requested) && isOrdinaryTier(tier);
  return reported.some(isOrdinary) ? undefined : requested;
}

function outputOf(model: ModelTerms, tier: string): Nanos {
  return model.serviceTiers.get(tier)?.output ?? 0n;
}

/** The prices that a request may turn out to have: a host may serve it at the ordinary speed, for example. */
export function possiblePrices(model: ModelTerms, requested: string | undefined): readonly Prices[] {
  const prices = pricesFor(model, requested);
  return requested !== undefined && fieldOfTier(requested) !== 'service_tier' ? [prices, model] : [prices];
}

/** The field and the value of a request whose price is missing. */
export function unpricedTier(model: ModelTerms, tier: string): string {
  const field = fieldOfTier(tier);
  const priced = [...model.serviceTiers.keys()].filter((each) => fieldOfTier(each) === field).map(valueOfTier);
  const ordinary = field === 'service_tier' ? ['auto', 'default'] : [PRICED_FIELDS[field]];
  const expected = [...ordinary, ...priced].join(', ');
  return `${field}: this model has no price for ${JSON.stringify(valueOfTier(tier))}; expected one of ${expected}`;
}

/** The cost of a request that made these calls of tools. The sum is rounded up once, to the nanodollar. */
export function usageCost(prices: Prices, usage: TokenUsage, calls: readonly ToolCalls[] = []): Nanos {
  const { promptTokens, cachedTokens, completionTokens, parts = NO_PARTS } = usage;
  const { cacheWriteTokens, cacheWrite1hTokens, cachedAudioTokens, cachedImageTokens } = parts;
  const { audioInputTokens, audioOutputTokens, imageInputTokens, imageOutputTokens } = parts;
  const atLength = pricesAtLength(prices, promptTokens);
  const { input, cachedInput, output, cacheWrite, cacheWrite1h } = atLength;
  const ownInput = cacheWriteTokens + cacheWrite1hTokens + audioInputTokens + imageInputTokens;
  const priced: PricedTokens[] = [
    { tokens: promptTokens - cachedTokens - ownInput, nanosPerMillion: input },
    { tokens: cachedTokens - cachedAudioTokens - cachedImageTokens, nanosPerMillion: cachedInput },
    { tokens: completionTokens - audioOutputTokens - imageOutputTokens, nanosPerMillion: output },
  ];
  if (parts !== NO_PARTS) {
    const media = mediaPrices(atLength);
    priced.push(
      { tokens: cacheWriteTokens, nanosPerMillion: cacheWrite },
      { tokens: cacheWrite1hTokens, nanosPerMillion: cacheWrite1h },
      { tokens: audioInputTokens, nanosPerMillion: media.audioInput },
      { tokens: cachedAudioTokens, nanosPerMillion: media.cachedAudioInput },
      { tokens: audioOutputTokens, nanosPerMillion: media.audioOutput },
      { tokens: imageInputTokens, nanosPerMillion: media.imageInput },
      { tokens: cachedImageTokens, nanosPerMillion: media.cachedImageInput },
      { tokens: imageOutputTokens, nanosPerMillion: media.imageOutput },
    );
  }
  for (const { count, of, reported } of calls) priced.push(callsOf(count, dearestCall(prices, of, reported).call));
  return costRoundedUp(priced);
}

/** The prices of audio and images, with one for each kind of token. */
type MediaPrices = Readonly<Record<'audioInput' | 'cachedAudioInput' | 'audioOutput' | ImagePrice, Nanos>>;
type ImagePrice = 'imageInput' | 'cachedImageInput' | 'imageOutput';

/**
 * The dearest prices of any known model, in nanodollars per million tokens: gpt-4o-audio-preview and
 * gpt-4o-realtime-preview for audio, gemini-3-pro-image for images. Compared with LiteLLM's table
 * model_prices_and_context_window.json of 2026-07-24, fields `input_cost_per_audio_token`, `output_cost_per_audio_token`
 * and `output_cost_per_image_token`; only the retired previews of 2024-10 were dearer (audio at 100 and 200 USD). A request
 * that asks for a kind without a price is refused, so these apply only where a host reports tokens of a kind that neither
 * the request nor the name of the model let expect.
 */
const DEAREST = {
  audioInput: 40n * NANOS_PER_USD,
  audioOutput: 80n * NANOS_PER_USD,
  imageOutput: 120n * NANOS_PER_USD,
};

/** Completes the prices of audio and images. Cached images get no discount where images have a price. */
export function mediaPrices(prices: Prices): MediaPrices {
  const { input, cachedInput, output } = prices;
  const isFree = input === 0n && output === 0n;
  const unlisted = (kind: keyof typeof DEAREST, ordinary: Nanos) => (isFree ? 0n : highest(ordinary, DEAREST[kind]));
  const audioInput = prices.audioInput ?? unlisted('audioInput', input);
  return {
    audioInput,
    cachedAudioInput: prices.cachedAudioInput ?? audioInput,
    audioOutput: prices.audioOutput ?? unlisted('audioOutput', output),
    imageInput: prices.imageInput ?? input,
    cachedImageInput: prices.imageInput ?? cachedInput,
    imageOutput: prices.imageOutput ?? unlisted('imageOutput', output),
  };
}

/** What so many calls of a tool cost, in the terms of tokens. */
function callsOf(calls: number, nanosPerCall: Nanos): PricedTokens {
  return { tokens: calls * 1_000_000, nanosPerMillion: nanosPerCall };
}

/** An estimate of tokens is at least so much of a real count. */
export const LEAST_ESTIMATE = 0.9;

/** What a request may use besides text. */
export interface Extras extends Media {
  /** How long its host may keep what it writes to its prompt cache; undefined if it writes nothing. */
  readonly cacheWrite: '5m' | '1h' | undefined;
  /** The host's own tools that it may call. */
  readonly hostTools: readonly HostTool[];
}

/** What to hold for a request: its cost if all of its tokens had the highest price that they can have. */
export function expectedCost(prices: Prices, inputTokens: number, outputTokens: number, extras: Extras): Nanos {
  const { cacheWrite: lifetime, hostTools } = extras;
  // What tools find is input, too.
  const found = foundTokens(prices, hostTools);
  const listed = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE + found);
  const { input, cachedInput, cacheWrite: shortWrite, cacheWrite1h } = listed;
  const cacheWrite = lifetime === undefined ? input : lifetime === '5m' ? shortWrite : cacheWrite1h;
  const priced: PricedTokens[] = [
    { tokens: inputTokens + found, nanosPerMillion: highest(cacheWrite, ...inputPrices(listed, extras)) },
    { tokens: outputTokens, nanosPerMillion: highest(...outputPrices(listed, extras)) },
  ];
  // After a call the host goes on from the beginning, which is in its cache if it has one.
  const readAgain = lifetime === undefined ? input : cachedInput;
  for (const tool of hostTools) {
    const rereads = isUnit(tool) ? 0 : rereadsFor(tool, tool.calls);
    priced.push({ tokens: rereads * inputTokens, nanosPerMillion: readAgain });
    priced.push(callsOf(Math.max(tool.calls, leastOf(prices, [tool])), dearestCall(prices, [tool]).call));
  }
  return costRoundedUp(priced);
}

function inputPrices(prices: Prices, { hears, sees }: Media): [Nanos, ...Nanos[]] {
  if (!hears && !sees) return [prices.input];
  const { audioInput, cachedAudioInput, imageInput } = mediaPrices(prices);
  return [prices.input, ...(hears ? [audioInput, cachedAudioInput] : []), ...(sees ? [imageInput] : [])];
}

function outputPrices(prices: Prices, { speaks, draws }: Media): [Nanos, ...Nanos[]] {
  if (!speaks && !draws) return [prices.output];
  const { audioOutput, imageOutput } = mediaPrices(prices);
  return [prices.output, ...(speaks ? [audioOutput] : []), ...(draws ? [imageOutput] : [])];
}

/** What a million tokens of each kind of output cost in a request with so many estimated tokens of input. */
export function outputPricesAt(prices: Prices, inputTokens: number): Readonly<Record<'text' | Modality, Nanos>> {
  const listed = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE);
  const { audioOutput, imageOutput } = mediaPrices(listed);
  return { text: listed.output, audio: audioOutput, image: imageOutput };
}

/** Whether a request to the model can cost nothing. */
export function mayBeFree(model: ModelTerms): boolean {
  if (model.isWithoutTokenPrices) return [...model.tools.values()].some(({ call }) => call === 0n);
  const extras: Extras = { ...NO_MEDIA, cacheWrite: undefined, hostTools: toolsFor(model, model, []) };
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
    audioInput: atLeast(prices.audioInput, input),
    cachedAudioInput: atLeast(prices.cachedAudioInput, cachedInput),
    audioOutput: atLeast(prices.audioOutput, output),
    imageInput: atLeast(prices.imageInput, input),
    imageOutput: atLeast(prices.imageOutput, output),
  };
}

function atLeast(price: Nanos | undefined, least: Nanos): Nanos | undefined {
  return price === undefined ? undefined : highest(price, least);
}

function highest(first: Nanos, ...others: readonly Nanos[]): Nanos {
  return others.reduce((most, each) => (each > most ? each : most), first);
}
