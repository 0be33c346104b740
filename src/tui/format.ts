/** Figures as people read them: short, and of the same width wherever they change. Pure. */
import { formatUsd, NANOS_PER_USD, type Nanos } from '../core/money.ts';

const GROUPED = new Intl.NumberFormat('en-US');

export function count(number: number): string {
  return GROUPED.format(number);
}

/** 1,234 as `1.2k`, 12,345,678 as `12.3M`. */
export function short(number: number): string {
  const steps = [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const;
  for (const [size, unit] of steps) {
    if (number >= size * 10_000) continue;
    if (number >= size * 10) return `${(number / size).toFixed(1)}${unit}`;
  }
  return number < 10 && !Number.isInteger(number) ? number.toFixed(1) : count(Math.round(number));
}

/** USD with two decimals, or with as many as it takes to show something. */
export function usd(nanos: Nanos): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const cents = NANOS_PER_USD / 100n;
  if (absolute >= NANOS_PER_USD || absolute === 0n) return `${nanos < 0n ? '-' : ''}${grouped(absolute / cents)}`;
  return absolute >= cents ? formatUsd((nanos / 100_000n) * 100_000n) : formatUsd(nanos);
}

function grouped(cents: bigint): string {
  return `${GROUPED.format(cents / 100n)}.${String(cents % 100n).padStart(2, '0')}`;
}

/** 75 seconds as `1m15s`, two units at most. */
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

export function milliseconds(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export function bytes(number: number): string {
  return number < 1024 * 1024 ? `${Math.ceil(number / 1024)} KB` : `${count(Math.round(number / 1024 / 1024))} MB`;
}
