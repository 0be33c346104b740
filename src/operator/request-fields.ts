/** All fields of a request as labelled texts, for commands and dashboard. Pure. */
import { readPriceText } from '../core/charged-price.ts';
import { isoTime } from '../core/clock.ts';
import type { Failure } from '../core/failure.ts';
import { NAME_KINDS } from '../core/spent-by.ts';
import { unitText } from '../core/units.ts';
import type { RequestEnd, RequestRecord } from '../state/requests.ts';
import { count, countOf, exactUsd, milliseconds, price as shownPrice } from './format.ts';
import { servedBy, servedModel } from './messages.ts';

export type LabelledText = readonly [label: string, text: string];

/** `isShared`: whether several gateways share the state. */
export function requestFields(request: RequestRecord, isShared: boolean): LabelledText[] {
  const { end, holdNanos } = request;
  return [
    ['request', request.id],
    ['key', `${request.key} (${request.keyId})`],
    ['model', servedModel(request.model, request.requestedModel)],
    ...aliasField(request),
    ...(isShared ? [['node', request.node ?? '-'] as const] : []),
    ['admitted', isoTime(request.admittedAtMs)],
    ['held', `${exactUsd(holdNanos)} USD`],
    ...(request.price === undefined ? [] : [['price', priceOf(request)] as const]),
    ...(end === undefined ? [['state', 'in flight'] as const] : endFields(request, end)),
  ];
}

function aliasField({ price }: RequestRecord): LabelledText[] {
  const alias = price === undefined ? undefined : readPriceText(price)?.alias;
  return alias === undefined ? [] : [['asked for as', alias]];
}

/** The time from admission to settlement; undefined while the request is in flight. */
export function durationOf({ admittedAtMs, end }: RequestRecord): number | undefined {
  return end && Math.max(0, end.settledAtMs - admittedAtMs);
}

/** The price of a request in USD per million tokens, and its origin. */
export function priceOf({ price: text }: Pick<RequestRecord, 'price'>): string {
  const price = text === undefined ? undefined : readPriceText(text);
  if (price === undefined) return 'unknown';
  if (price.isFromCache) return 'nothing, from the cache';
  const { input, cachedInput, output, extras, tier, above, units, of } = price;
  return [
    `${shownPrice(input)} in`,
    ...(cachedInput === input ? [] : [`${shownPrice(cachedInput)} cached`]),
    `${shownPrice(output)} out`,
    ...extras.map(([name, usd]) => `${shownPrice(usd)} ${unitText(name)}`),
    ...(units === undefined ? [] : [`${count(units)} units`]),
    ...(tier === undefined ? [] : [`tier ${tier}`]),
    ...(above === undefined ? [] : [`above ${countOf(above, 'token')}`]),
    of === undefined ? 'from the config' : `from the price file of ${of}`,
  ].join(', ');
}

const SOURCES = {
  reported: 'reported by the provider',
  counted: 'counted by the gateway',
  held: 'charged as held, because the gateway did not see its end',
} as const;

/** Describes the source of a request's usage figures. */
export function sourceOf({ price }: Pick<RequestRecord, 'price'>, { source }: Pick<RequestEnd, 'source'>): string {
  const isFromCache = price !== undefined && readPriceText(price)?.isFromCache === true;
  return isFromCache ? 'answered from the cache' : SOURCES[source];
}

function endFields(request: RequestRecord, end: RequestEnd): LabelledText[] {
  const parts = [
    ...(end.cachedTokens === 0 ? [] : [`${count(end.cachedTokens)} cached`]),
    ...(end.cacheWriteTokens === 0 ? [] : [`${count(end.cacheWriteTokens)} written to the cache`]),
  ];
  const cached = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  const correction = end.correctedAtMs === undefined ? '' : `, corrected at ${isoTime(end.correctedAtMs)}`;
  return [
    ['ended', `${isoTime(end.settledAtMs)}, after ${milliseconds(durationOf(request))}`],
    ['upstream', end.upstream === undefined ? '-' : servedBy(end.upstream, end.attempts)],
    ['first byte', end.firstByteMs === undefined ? '-' : `after ${milliseconds(end.firstByteMs)}`],
    ['outcome', end.outcome],
    ...failureFields(end.failure),
    ...NAME_KINDS.map((kind): LabelledText => [kind, end.spentBy?.[kind] ?? '']).filter(([, name]) => name !== ''),
    ['completion', end.completionId ?? '-'],
    ['tokens', `${count(end.promptTokens)} in${cached}, ${count(end.completionTokens)} out; ${sourceOf(request, end)}`],
    ['cost', `${exactUsd(end.costNanos)} USD${correction}`],
  ];
}

function failureFields(failure: Failure | undefined): LabelledText[] {
  if (failure === undefined) return [];
  return [
    ['failure', failure.message],
    ['reason', failure.reason],
  ];
}
