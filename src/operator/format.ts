/** Figures as people read them: counts, amounts, durations, sizes and times. Pure. */
import { isoTime } from '../core/clock.ts';
import { formatUsd, NANOS_PER_USD, type Nanos } from '../core/money.ts';

let numberFormat: Intl.NumberFormat | undefined;

function grouped(number: number | bigint): string {
  // Made on first use: it takes 10 ms.
  numberFormat ??= new Intl.NumberFormat('en-US');
  return numberFormat.format(number);
}

/** 1234567 as `1,234,567`. */
export function count(number: number): string {
  // Most numbers of a long table need no grouping, which takes a hundred times as long.
  return Number.isInteger(number) && Math.abs(number) < 1_000 ? String(number) : grouped(number);
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

/** An amount to the nanodollar: `1,234.50`, `0.000150`. */
export function exactUsd(nanos: Nanos): string {
  const [whole = '', fraction = ''] = formatUsd(nanos).split('.');
  return `${whole.replace(/\d{4,}/, (digits) => grouped(BigInt(digits)))}.${fraction}`;
}

/** An amount at a glance: two decimals, or as many as it takes to show something. */
export function usd(nanos: Nanos): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const cents = NANOS_PER_USD / 100n;
  if (absolute >= NANOS_PER_USD || absolute === 0n) return exactUsd((nanos / cents) * cents);
  return absolute >= cents ? formatUsd((nanos / 100_000n) * 100_000n) : formatUsd(nanos);
}

/** From this many USD on, cents are left out so that the largest amount still fits its column. */
const LARGE_USD = 10_000_000n;

/** An amount for a column: decimal points line up, and too small an amount is not shown as 0. */
export function usdInColumn(nanos: Nanos, decimals: 2 | 6): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const unit = 10n ** BigInt(9 - decimals);
  if (absolute > 0n && absolute < unit) return `${nanos < 0n ? '-' : ''}<${(10 ** -decimals).toFixed(decimals)}`;
  const whole = grouped(nanos / NANOS_PER_USD);
  if (absolute >= LARGE_USD * NANOS_PER_USD) return whole;
  const fraction = String((absolute % NANOS_PER_USD) / unit).padStart(decimals, '0');
  return `${nanos < 0n && absolute < NANOS_PER_USD ? '-' : ''}${whole.replace('-0', '0')}.${fraction}`;
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

/** How long ago something was, in its largest unit: `3m ago`. */
export function ago(seconds: number): string {
  const [largest = '0s'] = /^\d+\D/.exec(duration(seconds)) ?? [];
  return `${largest} ago`;
}

/** How long a request or a part of one took: `130 ms`, `2.5 s`. */
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
