/**
 * Money: integer nanodollars (1e-9 USD) inside, decimal USD at the edges, and no floating point.
 */

/** An amount in nanodollars. Up to {@link MAX_NANOS} it fits SQLite's 64-bit integers. */
export type Nanos = bigint;

export const NANOS_PER_USD = 1_000_000_000n;

/** The largest accepted amount: a billion USD, a ninth of the range of a 64-bit integer. */
export const MAX_NANOS: Nanos = 1_000_000_000n * NANOS_PER_USD;

const DECIMALS = 9;
const TOKENS_PER_PRICE = 1_000_000n;
const USD_PATTERN = /^(\d{1,10})(?:\.(\d{1,9}))?$/;

/** Parses a plain decimal amount of USD, such as `12.5`. Undefined if it is malformed, or above a billion. */
export function parseUsd(text: string): Nanos | undefined {
  const match = USD_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const nanos = BigInt(whole) * NANOS_PER_USD + BigInt(fraction.padEnd(DECIMALS, '0'));
  return nanos <= MAX_NANOS ? nanos : undefined;
}

/** Formats an amount as decimal USD with two to nine decimals, such as `0.000150`. */
export function formatUsd(nanos: Nanos): string {
  const sign = nanos < 0n ? '-' : '';
  const absolute = nanos < 0n ? -nanos : nanos;
  const fraction = (absolute % NANOS_PER_USD).toString().padStart(DECIMALS, '0');
  const shown = fraction.replace(/0+$/, '').padEnd(2, '0');
  // Six decimals make the costs of single requests easy to compare.
  const padded = shown.length > 2 && shown.length < 6 ? shown.padEnd(6, '0') : shown;
  return `${sign}${absolute / NANOS_PER_USD}.${padded}`;
}

/**
 * Two digits of an amount, rounded up: `0.51` for 0.503733. For messages: clients search them for
 * numbers such as 503 to find out whether to try again.
 */
export function usdRoundedUp(nanos: Nanos): string {
  const step = 10n ** BigInt(Math.max(0, nanos.toString().length - 2));
  return formatUsd(((nanos + step - 1n) / step) * step);
}

/** Tokens of one kind, and the price of a million of them. */
export interface PricedTokens {
  readonly tokens: number;
  readonly nanosPerMillion: Nanos;
}

/** The cost of a request. The sum over its parts is rounded up once, to the nanodollar. */
export function costRoundedUp(parts: readonly PricedTokens[]): Nanos {
  let total = 0n;
  for (const { tokens, nanosPerMillion } of parts) {
    // Most kinds have zero tokens, and bigint arithmetic is slow.
    if (tokens !== 0) total += BigInt(tokens) * nanosPerMillion;
  }
  return (total + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE;
}

const DECIMAL = /^(-?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;
/** Significant decimal digits of a 64-bit float. Further digits are artifacts of float arithmetic. */
const FLOAT_DIGITS = 15;
/** From USD a token to nanodollars a million tokens: six digits and nine. */
const TOKEN_PRICE_SHIFT = 15;

/**
 * Converts a price in USD per token, such as `1.5e-07`, to nanodollars per million tokens: 150,000,000 for 0.15 USD. Exact to 15
 * digits; finer prices are rounded up. Undefined if the text is not a decimal number, or the price is above a billion USD.
 */
export function tokenPriceRoundedUp(text: string): Nanos | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+(?=\d)/, '');
  const excess = Math.max(0, digits.length - FLOAT_DIGITS);
  const unit = 10n ** BigInt(excess);
  const kept = (BigInt(digits) + unit / 2n) / unit;
  const shift = Number(exponent) - fraction.length + excess + TOKEN_PRICE_SHIFT;
  const scale = 10n ** BigInt(Math.abs(shift));
  const nanos = shift >= 0 ? kept * scale : (kept + scale - 1n) / scale;
  if (nanos > MAX_NANOS) return undefined;
  return sign === '-' ? -nanos : nanos;
}
