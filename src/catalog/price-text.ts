/**
 * The price of a request in the journal: compact, and readable without this program. USD per million tokens as `input/cached
 * input/output`, then other conditions: `0.15/0.075/0.6 tier=flex above=200000 of=2026-11-22 as=fast`. Pure.
 */

import type { ToolCalls } from '../core/host-tools.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { isUnit } from '../core/units.ts';
import type { TokenUsage } from '../core/usage.ts';
import { mediaPrices, pricesAtLength, tierOf } from './cost.ts';
import { dearestCall } from './tool-cost.ts';

/** The properties of a request, other than its model, that determine its price. */
export interface PriceFacts {
  /** The requested service tier, and the tier that the host reports. */
  readonly requestedTier: string | undefined;
  readonly servedTier?: string | undefined;
  /** All input, cached input included. */
  readonly inputTokens: number;
  /** Usage with separate prices; undefined without any. */
  readonly parts?: TokenUsage['parts'];
  /** Calls of the host's own tools. */
  readonly calls?: readonly ToolCalls[];
  /** The name of the model in the request, if it is an alias: visible characters only. */
  readonly alias?: string | undefined;
}

/** Cached `0.15/0.075/0.6` of prices that apply at any length, as nearly all do. */
const BASES = new WeakMap<Prices, string>();

export function priceText(model: ModelTerms, facts: PriceFacts): string {
  const tier = tierOf(model, facts.requestedTier, facts.servedTier);
  const listed = (tier === undefined ? undefined : model.serviceTiers.get(tier)) ?? model;
  const prices = pricesAtLength(listed, facts.inputTokens);
  let text = baseText(prices);
  if (tier !== undefined) text += ` tier=${tier}`;
  if (prices !== listed) text += ` above=${listed.above?.tokens}`;
  if (facts.parts !== undefined) text += partsText(prices, facts.parts);
  if (facts.calls !== undefined && facts.calls.length > 0) text += callsText(prices, facts.calls);
  if (model.pricesOf !== undefined) text += ` of=${model.pricesOf}`;
  return facts.alias === undefined ? text : `${text} as=${facts.alias}`;
}

function baseText(prices: Prices): string {
  const known = BASES.get(prices);
  if (known !== undefined) return known;
  const text = [prices.input, prices.cachedInput, prices.output].map(plainUsd).join('/');
  BASES.set(prices, text);
  return text;
}

/** The prices of the kinds of usage that occurred. */
function partsText(prices: Prices, parts: NonNullable<TokenUsage['parts']>): string {
  const media = mediaPrices(prices);
  // Without a price, images are ordinary input.
  const imagesRead = prices.imageInput === undefined ? 0 : parts.imageInputTokens + parts.cachedImageTokens;
  const extras: readonly (readonly [name: string, tokens: number, price: Nanos])[] = [
    ['cache_write', parts.cacheWriteTokens, prices.cacheWrite],
    ['cache_write_1h', parts.cacheWrite1hTokens, prices.cacheWrite1h],
    ['audio_input', parts.audioInputTokens, media.audioInput],
    ['cached_audio_input', parts.cachedAudioTokens, media.cachedAudioInput],
    ['audio_output', parts.audioOutputTokens, media.audioOutput],
    ['image_input', imagesRead, media.imageInput],
    ['image_output', parts.imageOutputTokens, media.imageOutput],
  ];
  return extras
    .filter(([, tokens]) => tokens > 0)
    .map(([name, , price]) => ` ${name}=${plainUsd(price)}`)
    .join('');
}

/**
 * The price of each kind of call that occurred, `tools.web_search=0.01`, and for units also their number, `per_search=0.002
 * units=3`, since the journal has no column for it. A request has one kind of units.
 */
function callsText(prices: Prices, calls: readonly ToolCalls[]): string {
  const texts = new Set<string>();
  let units = 0;
  for (const { count, of, reported } of calls) {
    const { text, call } = dearestCall(prices, of, reported);
    if (text === '') continue;
    const isOfUnit = isUnit({ name: text });
    if (isOfUnit) units += count;
    texts.add(` ${isOfUnit ? '' : 'tools.'}${text}=${plainUsd(call)}`);
  }
  return [...texts, units === 0 ? '' : ` units=${units}`].join('');
}

/** A decimal without trailing zeros. */
function plainUsd(nanos: Nanos): string {
  return formatUsd(nanos).replace(/\.?0+$/, '');
}
