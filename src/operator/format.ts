/** Formats counts, amounts, durations, sizes and times for people. Pure. */
import { isoTime } from '../core/clock.ts';
import { formatUsd, NANOS_PER_USD, type Nanos } from '../core/money.ts';
import { counted } from '../core/plural.ts';

let numberFormat: Intl.NumberFormat | undefined;

function grouped(number: number | bigint): string {
  // Creating it takes 10 ms, which most commands do not need.
  numberFormat ??= new Intl.NumberFormat('en-US');
  return numberFormat.format(number);
}

/** 1234567 as `1,234,567`. */
export function count(number: number): string {
  // Most numbers in a long table need no separators, and grouping takes a hundred times as long.
  return Number.isInteger(number) && Math.abs(number) < 1_000 ? String(number) : grouped(number);
}

/** `1 request`, `1,200 requests`. */
export function countOf(number: number, noun: string): string {
  return counted(number, noun, undefined, count);
}

const UNITS = [
  [1e3, 'k'],
  [1e6, 'M'],
  [1e9, 'G'],
  [1e12, 'T'],
] as const;

/** `1,234`, `12.3k`, `2.0M`: at most five characters for a number below 1,000 T. */
export function short(number: number): string {
  if (number < 9.95 && !Number.isInteger(number)) return number.toFixed(1);
  const whole = Math.round(number);
  if (whole < 10_000) return count(whole);
  const [size, unit] = UNITS.find(([each]) => whole < each * 999.5) ?? UNITS[3];
  const times = whole / size;
  return `${times < 99.95 ? times.toFixed(1) : Math.round(times)}${unit}`;
}

/** An amount to the nanodollar, for prices and for programs that read tables: `1,234.50`, `0.000150`. */
export function exactUsd(nanos: Nanos): string {
  const [whole = '', fraction = ''] = formatUsd(nanos).split('.');
  return `${whole.replace(/\d{4,}/, (digits) => grouped(BigInt(digits)))}.${fraction}`;
}

const NANOS_PER_CENT = NANOS_PER_USD / 100n;
const NANOS_PER_MICRO = NANOS_PER_USD / 1_000_000n;

/**
 * An amount for people: two decimals, six below a cent, nine below a millionth. Truncated, so that neither a balance nor
 * spending appears larger than it is.
 */
export function usd(nanos: Nanos): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  if (absolute === 0n || absolute >= NANOS_PER_CENT) return exactUsd((nanos / NANOS_PER_CENT) * NANOS_PER_CENT);
  return formatUsd(absolute >= NANOS_PER_MICRO ? (nanos / NANOS_PER_MICRO) * NANOS_PER_MICRO : nanos);
}

/** A nonzero amount below a cent. */
const BELOW_A_CENT = /^[-+]?0\.00\d*[1-9]/;

/** Exact amounts with as many decimals as the smallest of them needs. Amounts are cut, not rounded up. */
export function inOneFormat(amounts: readonly string[]): string[] {
  const decimals = amounts.some((amount) => BELOW_A_CENT.test(amount)) ? 6 : 2;
  return amounts.map((amount) => {
    const [whole = '', fraction] = amount.split('.');
    if (fraction === undefined) return amount;
    const shown = `${whole}.${fraction.slice(0, decimals).padEnd(decimals, '0')}`;
    const isLost = /[1-9]/.test(amount) && !/[1-9]/.test(shown);
    return isLost ? shown.replace('0.', '<0.').replace(/0$/, '1') : shown;
  });
}

/** From this amount on, cents are omitted so that the largest amount fits its column. */
const LARGE_USD = 10_000_000n;

/** From this amount on, four of six decimals are omitted so that the amount fits its column. */
const MANY_USD = 1_000n;

/** An amount with a fixed number of decimals, for a column of amounts. A smaller nonzero amount is `<0.01`, not `0.00`. */
export function usdInColumn(nanos: Nanos, decimals: 2 | 6): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? '-' : '';
  const step = decimals === 2 ? NANOS_PER_CENT : NANOS_PER_MICRO;
  if (absolute > 0n && absolute < step) return `${sign}<${decimals === 2 ? '0.01' : '0.000001'}`;
  const [whole = '', fraction = ''] = exactUsd((absolute / step) * step).split('.');
  const isShort = decimals === 6 && absolute >= MANY_USD * NANOS_PER_USD;
  const shown = fraction.padEnd(decimals, '0').slice(0, isShort ? 2 : decimals);
  return `${sign}${whole}${absolute >= LARGE_USD * NANOS_PER_USD ? '' : `.${shown}`}${isShort ? '    ' : ''}`;
}

/** A price per million tokens. Exact: rounding would be wrong a million times. */
export function price(nanos: Nanos): string {
  return exactUsd(nanos).replace(/(\.\d\d\d*?)0+$/, '$1');
}

/** A share in percent; `<1%` and `>99%` for shares that would round to 0% or 100% but are neither. */
export function percent(part: number): string {
  if (part > 0 && part < 0.01) return '<1%';
  if (part > 0.99 && part < 1) return '>99%';
  return `${Math.round(part * 100)}%`;
}

const LEFT_EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** A share from 0 to 1 as a bar, in eighths of a column. Every nonzero share is visible. */
export function blocks(share: number, width: number): string {
  const eighths = share <= 0 ? 0 : Math.max(1, Math.round(Math.min(1, share) * width * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + LEFT_EIGHTHS[eighths % 8];
}

/** 75 seconds as `1m15s`: at most two units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'm'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(([number], index) => index === 0 || number > 0)
    .map(([number, unit]) => `${number}${unit}`)
    .join('');
}

/** The time since an event, in its largest unit: `3m ago`. */
export function ago(seconds: number): string {
  const [largest = '0s'] = /^\d+\D/.exec(duration(seconds)) ?? [];
  return `${largest} ago`;
}

/** The duration of a request or one of its phases: `130 ms`, `2.5 s`. */
export function milliseconds(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** A size, rounded up to KB (1,024 bytes); from 1 MB on, rounded to MB. */
export function bytes(number: number): string {
  return number < 1024 * 1024 ? `${Math.ceil(number / 1024)} KB` : `${count(Math.round(number / 1024 / 1024))} MB`;
}

/** A time in UTC, to the second: `2026-11-01 12:00:00`. */
export function dateTime(wallMs: number): string {
  return isoTime(wallMs).slice(0, 19).replace('T', ' ');
}
