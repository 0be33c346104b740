/** The spending of a key, a group or an end user against its limits, as bars. Pure. */
import type { BudgetSpend } from '../../core/budgets.ts';
import { NANOS_PER_USD, type Nanos } from '../../core/money.ts';
import { usd, usdInColumn } from '../../operator/format.ts';
import { isSpent, tightest } from '../../operator/spending.ts';
import type { Marked } from '../../operator/table.ts';
import { fit } from '../../operator/text.ts';
import type { MonthFigures } from '../../state/usage.ts';
import { bar } from '../draw/chart.ts';
import { dim, type Line, lineWidth, span } from '../draw/line.ts';

/** Columns of a bar. */
export const BAR = 6;
/** Columns next to a bar of money: blank, both amounts, blank, period. */
const MONEY = 20;
const PERIOD = 5;
export const MONEY_COLUMNS = BAR + MONEY;
/** Minimum columns of a state. */
const STATE = 9;
/** The period of the figures in lists. */
export const MONTHLY = 'requests, tokens: this month (UTC)';
/** Columns for the labels of details. */
export const LABEL = 9;

interface Spending {
  readonly bounds: readonly BudgetSpend[];
  readonly month: MonthFigures;
}

/** The tightest bound; without one, the month's cost. */
export function moneyCell({ bounds, month }: Spending, nowMs: number): Line {
  const bound = tightest(bounds, nowMs);
  if (bound === undefined) return [{ text: ' '.repeat(BAR) }, dim(amounts(amountOf(month.costNanos), 'month'))];
  const text = amounts(`${amountOf(bound.chargedNanos)}/${amountOf(bound.limitNanos)}`, bound.period);
  return [
    ...bar(Number(bound.chargedNanos), Number(bound.limitNanos), BAR),
    span(text, { tone: isSpent(bound, nowMs) ? 'bad' : undefined }),
  ];
}

function amounts(text: string, period: string): string {
  return ` ${fit(text, MONEY - PERIOD - 2, 'right')} ${fit(period, PERIOD)}`;
}

/** Formats an amount, without cents if both amounts would not fit. */
export function amountOf(nanos: Nanos): string {
  return nanos >= NANOS_PER_USD * 1_000n ? usdInColumn(nanos, 2).slice(0, -3) : usdInColumn(nanos, 2);
}

/** Minimum columns for a state in a narrow window, where the key's name takes precedence. */
const LEAST_STATE = 20;
const NARROW = 80;

/** Returns the minimum columns for a column of states. */
export function leastState(states: readonly string[], columns: number): number {
  return columns < NARROW ? LEAST_STATE : stateWidth(states);
}

/** Returns the columns for the longest state, such as `✕ spent, opens 11-24 12:00`. */
export function stateWidth(states: readonly string[]): number {
  return states.reduce((most, { length }) => Math.max(most, length), STATE);
}

/** The spent part of a budget, and its forecast, on a second line if it does not fit. */
export function boundLines(bound: BudgetSpend, outlook: Marked | undefined, width: number): Line[] {
  const figures: Line = [
    dim(fit(bound.period, LABEL)),
    ...bar(Number(bound.chargedNanos), Number(bound.limitNanos), BAR),
    { text: ` ${usd(bound.chargedNanos)} of ${usd(bound.limitNanos)} USD` },
  ];
  if (outlook === undefined) return [figures];
  const { text, tone } = outlook;
  const said = span(text, tone === 'good' ? { dim: true } : { tone });
  if (lineWidth(figures) + 2 + text.length <= width) return [[...figures, { text: '  ' }, said]];
  return [figures, [{ text: ' '.repeat(LABEL) }, said]];
}
