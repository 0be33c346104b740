/** What a key, a group or an end user has spent of what they may spend, as bars. Pure. */
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
/** Columns beside a bar of money: blank, both amounts, blank, period. */
const MONEY = 20;
const PERIOD = 5;
export const MONEY_COLUMNS = BAR + MONEY;
/** Columns for a state, where none says when it ends. */
const STATE = 9;
/** What the figures of lists are of, and what times go by. */
export const MONTHLY = 'requests, tokens: this month (UTC)';
/** Columns for the labels of details. */
export const LABEL = 9;

interface Spending {
  readonly bounds: readonly BudgetSpend[];
  readonly month: MonthFigures;
}

/** The bound that stops it first, or what the month has cost if there is none. */
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

/** Without cents from where they would take the room of both amounts. */
export function amountOf(nanos: Nanos): string {
  return nanos >= NANOS_PER_USD * 1_000n ? usdInColumn(nanos, 2).slice(0, -3) : usdInColumn(nanos, 2);
}

/** In a narrow window a state is shortened: which key it is comes first. */
const LEAST_STATE = 20;
const NARROW = 80;

/** How narrow a column of states may become. */
export function leastState(states: readonly string[], columns: number): number {
  return columns < NARROW ? LEAST_STATE : stateWidth(states);
}

/** As wide as the longest of these states: `✕ spent, opens 11-24 12:00`. */
export function stateWidth(states: readonly string[]): number {
  return states.reduce((most, { length }) => Math.max(most, length), STATE);
}

/** How much of a budget is spent, and what comes of it: beneath where there is no room beside. */
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
