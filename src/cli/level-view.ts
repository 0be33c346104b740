/** Fields and columns that keys, groups and end users have in common. */
import type { BudgetSpend } from '../core/budgets.ts';
import { Likenesses } from '../core/likeness.ts';
import type { Nanos } from '../core/money.ts';
import { budgetsText, perPeriod, resetText } from '../operator/budgets.ts';
import { count, countOf, exactUsd, inOneFormat } from '../operator/format.ts';
import { outlookOf, shareSpent } from '../operator/spending.ts';
import type { Field, Look } from '../operator/table.ts';
import { TIER_NAMES, TIER_TERMS, userLimitTexts } from '../operator/terms.ts';
import type { LevelTerms, UserLimits } from '../state/keys.ts';
import { isUnlimited } from '../state/levels.ts';
import type { MonthFigures } from '../state/usage.ts';
import { money } from './output.ts';

/** The limits of a level without a tier, and its budgets with their spent amounts. */
export function levelFields(terms: LevelTerms, spends: readonly BudgetSpend[], nowMs: number, look: Look): Field[] {
  return [
    ...TIER_NAMES.map((name) => {
      const limit = terms[name];
      return [TIER_TERMS[name].label.toLowerCase(), limit === null ? 'no limit' : count(limit)] as const;
    }),
    ['monthly spend limit', terms.spendLimitNanos === null ? 'none' : `${money(terms.spendLimitNanos)} USD`],
    ...spends.map((spend) => budgetField(spend, nowMs, look)),
  ];
}

/** `budget per 24h`, with the spent amount and its reset. */
export function budgetField(spend: BudgetSpend, nowMs: number, look: Look): Field {
  const spent = `${money(spend.chargedNanos)} of ${money(spend.limitNanos)} USD spent`;
  const reset = look.room === undefined ? resetText(spend) : outlookOf(spend, nowMs)?.text;
  return [`budget ${perPeriod(spend.period)}`, reset === undefined ? spent : `${spent}, ${reset}`];
}

/** Wide enough for a spent group with a short name, and its reset. */
export const STATE_COLUMN = { head: 'STATE', prose: true, least: 35 } as const;

/** Wide enough for one budget of two digits, and the number of further budgets. */
export const BUDGETS_COLUMN = { head: 'BUDGETS (USD)', list: true, least: 18, rank: 2 } as const;

/**
 * The spent amounts of budgets. On a terminal, which may shorten the list, the budget with the largest spent part is first.
 */
export function budgetsCell(spends: readonly BudgetSpend[], look: Look): string {
  const inOrder = look.room === undefined ? spends : spends.toSorted((a, b) => shareSpent(b) - shareSpent(a));
  const format = (amounts: readonly Nanos[]) => {
    const exact = amounts.map(exactUsd);
    return look.room === undefined ? exact : inOneFormat(exact);
  };
  return budgetsText(inOrder, format) || '-';
}

/** The columns of a group or an end user: limits, budgets and this month's usage. */
export const LEVEL_COLUMNS = [
  ...Object.values(TIER_TERMS).map(({ option, rank }) => ({ head: option.toUpperCase(), number: true, rank }) as const),
  { head: 'LIMIT (USD)', usd: true, rank: 2 },
  BUDGETS_COLUMN,
  { head: 'REQUESTS', number: true, rank: 3 },
  { head: 'TOKENS', number: true, rank: 4 },
  { head: 'COST (USD)', usd: true, rank: 1 },
] as const;

/** The cells of these columns. */
export function levelCells(
  terms: LevelTerms,
  spends: readonly BudgetSpend[],
  month: MonthFigures | undefined,
  look: Look,
): string[] {
  return [
    ...TIER_NAMES.map((name) => (terms[name] === null ? '-' : count(terms[name]))),
    terms.spendLimitNanos === null ? '-' : exactUsd(terms.spendLimitNanos),
    budgetsCell(spends, look),
    ...(month === undefined
      ? ['-', '-', '-']
      : [count(month.requests), count(month.tokens), exactUsd(month.costNanos)]),
  ];
}

export function monthField({ requests, tokens, costNanos }: MonthFigures): Field {
  return ['this month (UTC)', `${countOf(requests, 'request')}, ${countOf(tokens, 'token')}, ${money(costNanos)} USD`];
}

/** The limits for each end user in one field; no field without such limits. */
export function userLimitFields(limits: UserLimits | null): Field[] {
  if (limits === null || isUnlimited(limits)) return [];
  return [['each end user', userLimitTexts(limits, money).join(', ')]];
}

/** The name that resembles a mistyped one most, if any does. */
export function mostAlike(name: string, names: readonly string[]): string | undefined {
  const named = names.map((id) => ({ id }));
  return new Likenesses(named).mostAlike(name, new Set(named), 1)[0]?.id;
}
