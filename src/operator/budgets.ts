/** Parses and formats budgets and expiry times. Pure. */
import {
  type Budget,
  type BudgetSpend,
  isSamePeriod,
  MAX_BUDGETS,
  parsePeriod,
  shownTime,
  sortedBudgets,
} from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import { type Reader, type Reading, readAmount, readMoment } from './input.ts';

/** One use of the option `--budget`. */
export type BudgetWord =
  | { readonly kind: 'clear' }
  | { readonly kind: 'remove'; readonly period: string }
  | { readonly kind: 'set'; readonly budget: Budget };

const BUDGET_FORM =
  'Expected a period and an amount in USD, such as day=5, week=20, total=100 or 24h=5 (s, m, h, d; 366 days at most), ' +
  'day=none to remove one, or none to remove all.';

/** Reads one value of `--budget`: `day=5`, `24h=0.50`, `day=none` or `none`. */
export const readBudget: Reader<BudgetWord> = (text) => {
  if (text === 'none') return { ok: true, value: { kind: 'clear' } };
  const [, period = '', amount = ''] = /^([a-z0-9]+)=(.+)$/.exec(text) ?? [];
  if (parsePeriod(period) === undefined) return { ok: false, expected: BUDGET_FORM };
  if (amount === 'none') return { ok: true, value: { kind: 'remove', period } };
  const reading = readAmount(amount);
  return reading.ok ? { ok: true, value: { kind: 'set', budget: { period, limitNanos: reading.value } } } : reading;
};

/** Applies the uses of `--budget` in their order: `--budget none --budget day=5` leaves one budget. */
export function budgetsAfter(before: readonly Budget[], words: readonly BudgetWord[]): Reading<readonly Budget[]> {
  const after = words.reduce(applied, before);
  if (after.length <= MAX_BUDGETS) return { ok: true, value: sortedBudgets(after) };
  const expected = `a key has at most ${MAX_BUDGETS} budgets, and would have ${after.length}; remove some with <period>=none`;
  return { ok: false, expected };
}

function applied(budgets: readonly Budget[], word: BudgetWord): readonly Budget[] {
  if (word.kind === 'clear') return [];
  const changed = word.kind === 'set' ? word.budget : { period: word.period, limitNanos: 0n };
  const others = budgets.filter((budget) => !isSamePeriod(budget, changed));
  return word.kind === 'set' ? [...others, word.budget] : others;
}

/** The end of the year 9999. ISO 8601 writes later years in another form. */
const LATEST_MS = Date.UTC(9999, 11, 31);
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads an expiry: `30d` from now, in whole seconds, a date (00:00 UTC), or a time. */
export function readExpiry(nowMs: number): Reader<number> {
  return (text) => {
    const [, number, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    const reading = number === undefined ? readMoment(nowMs)(text) : undefined;
    const fromNowMs = nowMs + Number(number) * (UNITS_MS[unit] ?? 0);
    const value = reading === undefined ? fromNowMs - (fromNowMs % 1_000) : reading.ok ? reading.value : 0;
    if (value > nowMs && value <= LATEST_MS) return { ok: true, value };
    return {
      ok: false,
      expected:
        'Expected how long from now (30d, 12h), or a date (2027-01-31) or time (2027-01-31T12:00:00Z) in the future.',
    };
  };
}

/** `day 5.00, 24h 2.00`, or with the spent amounts: `day 2.10/5.00`. `format` formats the amounts of one budget. */
export function budgetsText(
  budgets: readonly (Budget & Partial<BudgetSpend>)[],
  format: (amounts: readonly Nanos[]) => readonly string[],
): string {
  return budgets
    .map(({ period, limitNanos, chargedNanos }) => {
      const amounts = chargedNanos === undefined ? [limitNanos] : [chargedNanos, limitNanos];
      return `${period} ${format(amounts).join('/')}`;
    })
    .join(', ');
}

/** A budget's period as part of a sentence: `per day`, `per 24h`, `in total`. */
export function perPeriod(period: string): string {
  return period === 'total' ? 'in total' : `per ${period}`;
}

/** `resets at …`, the time at which all charges have left the budget. Undefined if they never leave. */
export function resetText({ resetsAtMs }: BudgetSpend): string | undefined {
  return resetsAtMs === null ? undefined : `resets at ${shownTime(resetsAtMs)}`;
}
