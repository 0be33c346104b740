/** The cost of a request as arithmetic that adds up, and its time as a waterfall. Pure. */
import { readPriceText } from '../../core/charged-price.ts';
import type { Nanos } from '../../core/money.ts';
import { count, countOf, exactUsd, milliseconds, price as shownPrice } from '../../operator/format.ts';
import { fit } from '../../operator/text.ts';
import type { RequestRecord } from '../../state/requests.ts';
import { bold, dim, type Line, span, type Tone } from '../draw/line.ts';

const TOKENS_PER_PRICE = 1_000_000n;
/** The kind of cache writes in the recorded price. */
const CACHE_WRITE = 'cache_write';
const LABEL = 13;
const [TOKENS, PRICE, AMOUNT] = [10, 10, 14];

interface Part {
  readonly label: string;
  readonly tokens: number;
  readonly price: Nanos;
}

/**
 * Lines such as `1,024 × 0.075 = 0.0000768` for each kind of tokens, and their sum. The journal does not record the
 * number of units, tools and media: they form the rest of the cost. Empty for a request without a price or an end.
 */
export function receiptLines({ end, price: text }: RequestRecord): Line[] {
  const price = text === undefined ? undefined : readPriceText(text);
  if (end === undefined || price === undefined || price.isFromCache || end.source === 'held') return [];
  const written = price.extras.find(([name]) => name === CACHE_WRITE)?.[1];
  const ownWrites = written === undefined ? 0 : end.cacheWriteTokens;
  const parts: readonly Part[] = [
    { label: 'input', tokens: end.promptTokens - end.cachedTokens - ownWrites, price: price.input },
    { label: 'cached input', tokens: end.cachedTokens, price: price.cachedInput },
    { label: 'cache write', tokens: ownWrites, price: written ?? 0n },
    { label: 'output', tokens: end.completionTokens, price: price.output },
  ].filter(({ tokens }) => tokens > 0);
  const exact = parts.reduce((sum, part) => sum + BigInt(part.tokens) * part.price, 0n);
  const roundedUp = (exact + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE;
  const rest = end.costNanos - roundedUp;
  return [
    [bold('Receipt'), dim('  tokens × USD per million')],
    ...parts.map(partLine),
    ...(rest === 0n ? [] : [amountLine(end.correctedAtMs === undefined ? 'units, tools' : 'correction', rest)]),
    [
      dim(fit('', LABEL + TOKENS + PRICE + 3)),
      bold(`= ${fit(exactUsd(end.costNanos), AMOUNT - 2, 'right')}`),
      dim(' USD'),
    ],
  ];
}

function partLine({ label, tokens, price }: Part): Line {
  const product = `${fit(count(tokens), TOKENS, 'right')} × ${fit(shownPrice(price), PRICE, 'right')}`;
  return [dim(fit(label, LABEL)), { text: product }, { text: fit(exactPart(tokens, price), AMOUNT, 'right') }];
}

function amountLine(label: string, nanos: Nanos): Line {
  return [dim(fit(label, LABEL + TOKENS + PRICE + 3)), { text: fit(exactUsd(nanos), AMOUNT, 'right') }];
}

/** Formats a part of the cost to the nanodollar. Only the sum is rounded up, so the last digit of a part may be cut. */
function exactPart(tokens: number, price: Nanos): string {
  return exactUsd((BigInt(tokens) * price) / TOKENS_PER_PRICE);
}

const SHORTEST_BAR = 10;
const TIMES = 20;

/** The phases of a request on one scale: until the first byte, with its attempts, and until the end. */
export function waterfallLines({ admittedAtMs, end }: RequestRecord, width: number): Line[] {
  const room = width - LABEL - TIMES;
  if (end === undefined || end.firstByteMs === undefined || room < SHORTEST_BAR) return [];
  const tookMs = Math.max(1, end.settledAtMs - admittedAtMs);
  const firstMs = Math.min(end.firstByteMs, tookMs);
  const at = (ms: number) => Math.round((ms / tookMs) * room);
  const bar = (label: string, fromMs: number, toMs: number, tone: Tone, times: string): Line => {
    const length = Math.max(1, at(toMs) - at(fromMs));
    const before = Math.min(at(fromMs), room - length);
    return [
      dim(fit(label, LABEL)),
      { text: ' '.repeat(before) },
      span('█'.repeat(length), { tone }),
      { text: `${' '.repeat(room - before - length)} ${times}` },
    ];
  };
  const tries = end.attempts === undefined ? '' : `, ${countOf(end.attempts, 'attempt')}`;
  return [
    [bold('Time'), dim(`  admitted ▸ first byte ${milliseconds(firstMs)}${tries} ▸ end ${milliseconds(tookMs)}`)],
    bar('waiting', 0, firstMs, 'other', milliseconds(firstMs)),
    bar('answering', firstMs, tookMs, 'accent', milliseconds(tookMs - firstMs)),
  ];
}
