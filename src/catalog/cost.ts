/** Computes the costs and holds of requests. Pure. */
import { type HostTool, rereadsFor, type ToolCalls } from '../core/host-tools.ts';
import { type Media, type Modality, NO_MEDIA } from '../core/modalities.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { costRoundedUp, NANOS_PER_USD, type Nanos, type PricedTokens } from '../core/money.ts';
import { fieldOfTier, isOrdinaryTier, PRICED_FIELDS, valueOfTier } from '../core/price-tiers.ts';
import { isUnit } from '../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { dearestCall, foundTokens, leastOf, toolsFor } from './tool-cost.ts';

/** Whether requests to a model may name a service tier. A tier that changes prices must have prices in the config. */
export function hasPriceFor(model: ModelTerms, serviceTier: string | undefined): boolean {
  return serviceTier === undefined || isOrdinaryTier(serviceTier) || model.serviceTiers.has(serviceTier);
}

/**
 * The prices of a request. `served`: the service tier that the host reports, which applies if it has prices; otherwise the
 * requested tier applies.
 */
export function pricesFor(model: ModelTerms, requested: string | undefined, served?: string): Prices {
  const tier = tierOf(model, requested, served);
  return (tier === undefined ? undefined : model.serviceTiers.get(tier)) ?? model;
}

/**
 * The service tier whose prices a request has; undefined for the ordinary ones. `served`: the host's report, followed by the
 * values of priced fields, each after a blank.
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

/** The possible prices of a request. For example, a host may serve a fast request at the ordinary speed. */
export function possiblePrices(model: ModelTerms, requested: string | undefined): readonly Prices[] {
  const prices = pricesFor(model, requested);
  return requested !== undefined && fieldOfTier(requested) !== 'service_tier' ? [prices, model] : [prices];
}

/** The field and value of a request without a price. */
export function unpricedTier(model: ModelTerms, tier: string): string {
  const field = fieldOfTier(tier);
  const priced = [...model.serviceTiers.keys()].filter((each) => fieldOfTier(each) === field).map(valueOfTier);
  const ordinary = field === 'service_tier' ? ['auto', 'default'] : [PRICED_FIELDS[field]];
  const expected = [...ordinary, ...priced].join(', ');
  return `${field}: this model has no price for ${JSON.stringify(valueOfTier(tier))}; expected one of ${expected}`;
}

/** The cost of a request with these tool calls. The sum is rounded up once, to the nanodollar. */
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
 * The highest prices of any known model, in nanodollars per million tokens: gpt-4o-audio-preview and gpt-4o-realtime-preview
 * for audio, gemini-3-pro-image for images. Compared with LiteLLM's table model_prices_and_context_window.json of
 * 2026-07-24, fields `input_cost_per_audio_token`, `output_cost_per_audio_token` and `output_cost_per_image_token`; only the
 * retired previews of 2024-10 (audio at 100 and 200 USD) and Azure's regional previews (audio input at 44 USD) are more
 * expensive. A request for a kind without a price is
 * refused, so these prices apply only if a host reports tokens of a kind that neither the request nor the model's name
 * predicted.
 */
const DEAREST = {
  audioInput: 40n * NANOS_PER_USD,
  audioOutput: 80n * NANOS_PER_USD,
  imageOutput: 120n * NANOS_PER_USD,
};

/** Completes the prices of audio and images. Cached images get no discount if images have a price. */
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

/** The cost of tool calls, in the units of token costs. */
function callsOf(calls: number, nanosPerCall: Nanos): PricedTokens {
  return { tokens: calls * 1_000_000, nanosPerMillion: nanosPerCall };
}

/** Token estimates are at least this share of the real count. */
export const LEAST_ESTIMATE = 0.9;

/** Features of a request, other than text, that affect its price. */
export interface Extras extends Media {
  /** The lifetime of the host's cache entries for its input; undefined if it writes no cache. */
  readonly cacheWrite: '5m' | '1h' | undefined;
  /** The host's own tools that it may call. */
  readonly hostTools: readonly HostTool[];
}

/** The hold of a request: its cost if each token had the highest possible price. */
export function expectedCost(prices: Prices, inputTokens: number, outputTokens: number, extras: Extras): Nanos {
  const { cacheWrite: lifetime, hostTools } = extras;
  // Results of tools are input as well.
  const found = foundTokens(prices, hostTools);
  const listed = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE + found);
  const { input, cachedInput, cacheWrite: shortWrite, cacheWrite1h } = listed;
  const cacheWrite = lifetime === undefined ? input : lifetime === '5m' ? shortWrite : cacheWrite1h;
  const priced: PricedTokens[] = [
    { tokens: inputTokens + found, nanosPerMillion: highest(cacheWrite, ...inputPrices(listed, extras)) },
    { tokens: outputTokens, nanosPerMillion: highest(...outputPrices(listed, extras)) },
  ];
  // After a call, the host reads the whole input again, from its cache if it has one.
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

/** The prices of a million output tokens of each kind, for a request with this estimated input. */
export function outputPricesAt(prices: Prices, inputTokens: number): Readonly<Record<'text' | Modality, Nanos>> {
  const listed = pricesAtLength(prices, inputTokens / LEAST_ESTIMATE);
  const { audioOutput, imageOutput } = mediaPrices(listed);
  return { text: listed.output, audio: audioOutput, image: imageOutput };
}

/** Whether a request to the model can be free. */
export function mayBeFree(model: ModelTerms): boolean {
  if (model.isWithoutTokenPrices) return [...model.tools.values()].some(({ call }) => call === 0n);
  const extras: Extras = { ...NO_MEDIA, cacheWrite: undefined, hostTools: toolsFor(model, model, []) };
  return [model, ...model.serviceTiers.values()].some((prices) => expectedCost(prices, 1, 1, extras) === 0n);
}

/** The prices of a request with this number of input tokens. */
export function pricesAtLength(prices: Prices, inputTokens: number): Prices {
  const { above } = prices;
  if (above === undefined || inputTokens <= above.tokens) return prices;
  const { input, cachedInput, output } = above;
  // Cache writes cost a multiple of other input, rounded up to the nanodollar.
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
