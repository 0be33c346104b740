/** Reads from the state what alerts are judged by. */
import { type BudgetSpend, fixedSpend } from '../core/budgets.ts';
import { utcMonth } from '../core/clock.ts';
import { forecastCredit } from '../operator/forecast.ts';
import type { KeyRecord } from '../state/keys.ts';
import { monthStart } from '../state/periods.ts';
import type { OpenState } from '../state/state.ts';
import type { AccountMoney, KeyMoney, Money } from './observation.ts';
import type { Pace } from './pace.ts';

/** The name of the monthly spend limit among the budgets. */
const MONTH = 'month';

type MoneyState = Pick<OpenState, 'keys' | 'usage' | 'budgets' | 'alerts'>;

export async function readMoney(
  state: MoneyState,
  isCreditEnforced: boolean,
  pace: Pace,
  nowMs: number,
): Promise<Money> {
  return { keys: await readKeys(state, nowMs), account: await readAccount(state, isCreditEnforced, pace, nowMs) };
}

/** Keys that can spend and have a limit. */
async function readKeys({ keys, usage, budgets }: MoneyState, nowMs: number): Promise<KeyMoney[]> {
  const limited = (await keys.list({ withDeleted: false })).filter((key) => isLimited(key, nowMs));
  if (limited.length === 0) return [];
  const ofMonth = limited.filter(({ spendLimitNanos }) => spendLimitNanos !== null);
  const months = await usage.monthsOf(
    ofMonth.map(({ id }) => id),
    utcMonth(nowMs),
  );
  const spends = await budgets.spentBy(
    limited.filter((key) => key.budgets.length > 0),
    nowMs,
  );
  return limited.map(({ id, name, spendLimitNanos }) => ({
    id,
    name,
    budgets: [
      ...(spends.get(id) ?? []),
      ...(spendLimitNanos === null ? [] : [monthSpend(spendLimitNanos, months.get(id)?.costNanos ?? 0n, nowMs)]),
    ],
  }));
}

function isLimited({ state, spendLimitNanos, budgets, expiresAtMs }: KeyRecord, nowMs: number): boolean {
  const canSpend = state === 'enabled' && (expiresAtMs === null || expiresAtMs > nowMs);
  return canSpend && (spendLimitNanos !== null || budgets.length > 0);
}

function monthSpend(limitNanos: bigint, chargedNanos: bigint, nowMs: number): BudgetSpend {
  return fixedSpend({ period: MONTH, limitNanos }, chargedNanos, monthStart(nowMs, 1), nowMs);
}

async function readAccount(
  { alerts }: MoneyState,
  isCreditEnforced: boolean,
  pace: Pace,
  nowMs: number,
): Promise<AccountMoney | undefined> {
  const account = await alerts.account();
  const spending = pace.add(nowMs, account.chargedNanos);
  const { lastEntry } = account;
  if (!isCreditEnforced || lastEntry === undefined) return undefined;
  return {
    entry: lastEntry.id,
    creditNanos: lastEntry.balanceNanos,
    balanceNanos: account.balanceNanos,
    forecast: spending && forecastCredit(account, 0, spending),
  };
}
