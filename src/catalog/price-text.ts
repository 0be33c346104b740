/**
 * The price of a request as the journal keeps it: compact, and readable without this program. USD per
 * million tokens as `input/cached input/output`, then what else applied:
 * `0.15/0.075/0.6 tier=flex above=200000 of=2026-11-22 as=fast`. Pure.
 */

import type { ToolCalls } from '../core/host-tools.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { isUnit } from '../core/units.ts';
import type { TokenUsage } from '../core/usage.ts';
import { mediaPrices, pricesAtLength, tierOf } from './cost.ts';
import { dearestCall } from './tool-cost.ts';

/** What decides on the price of a request, besides its model. */
export interface PriceFacts {
  /** The service tier that was requested, and the one that the host says it used. */
  readonly requestedTier: string | undefined;
  readonly servedTier?: string | undefined;
  /** All input, with what is cached. */
  readonly inputTokens: number;
  /** What has prices of its own; undefined if nothing has. */
  readonly parts?: TokenUsage['parts'];
  /** Calls of the host's own tools. */
  readonly calls?: readonly ToolCalls[];
  /** The name that the request gives the model, if that is not its id: visible characters alone. */
  readonly alias?: string | undefined;
}

/** `0.15/0.075/0.6` of prices that apply at any length: nearly every request has those. */
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

/** The prices of what there was. */
function partsText(prices: Prices, parts: NonNullable<TokenUsage['parts']>): string {
  const media = mediaPrices(prices);
  // Images are ordinary input unless they have a price.
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
 * The price of each kind of call that there was: `tools.web_search=0.01`, and of units how many: `per_search=0.002
 * units=3`, since no column of the journal says that. A request has one kind of them.
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

/** Without zeros at the end. */
function plainUsd(nanos: Nanos): string {
  return formatUsd(nanos).replace(/\.?0+$/, '');
}
