/** Reads the spending of keys, groups and the account from the state. */
import { type BudgetSpend, fixedSpend } from '../core/budgets.ts';
import { utcMonth } from '../core/clock.ts';
import { forecastCredit } from '../operator/forecast.ts';
import type { KeyRecord, LevelTerms } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import { monthStart } from '../state/periods.ts';
import type { OpenState } from '../state/state.ts';
import type { MonthFigures } from '../state/usage.ts';
import type { AccountMoney, Money, OwnerMoney } from './observation.ts';
import type { Pace } from './pace.ts';

/** Period name of the monthly spending limit. */
const MONTH = 'month';

type MoneyState = Pick<OpenState, 'keys' | 'groups' | 'levels' | 'usage' | 'alerts'>;

export async function readMoney(
  state: MoneyState,
  isCreditEnforced: boolean,
  pace: Pace,
  nowMs: number,
): Promise<Money> {
  const owners = [...(await readKeys(state, nowMs)), ...(await readGroups(state, nowMs))];
  return { owners, account: await readAccount(state, isCreditEnforced, pace, nowMs) };
}

/** Enabled keys with a spending limit. */
async function readKeys({ keys, usage, levels }: MoneyState, nowMs: number): Promise<OwnerMoney[]> {
  const limited = (await keys.list({ withDeleted: false })).filter((key) => isLimited(key, nowMs));
  if (limited.length === 0) return [];
  const ofMonth = limited.filter(({ spendLimitNanos }) => spendLimitNanos !== null);
  const months = await usage.monthsOf(
    ofMonth.map(({ id }) => id),
    utcMonth(nowMs),
  );
  const spends = await levels.spentBy(
    limited.filter((key) => key.budgets.length > 0),
    nowMs,
  );
  return limited.map((key) => ownerMoney('key', key, spends.get(key.id), months.get(key.id), nowMs));
}

/** Enabled groups with a spending limit. */
async function readGroups({ groups, levels }: MoneyState, nowMs: number): Promise<OwnerMoney[]> {
  const limited = (await groups.list()).filter(({ state, ...terms }) => state === 'enabled' && isBounded(terms));
  if (limited.length === 0) return [];
  const ids = limited.map(({ id }) => id);
  const [months, spends] = [await levels.monthsOf(ids, utcMonth(nowMs)), await levels.spentBy(limited, nowMs)];
  return limited.map((group) => ownerMoney('group', group, spends.get(group.id), months.get(group.id), nowMs));
}

function isLimited({ state, expiresAtMs, ...terms }: KeyRecord, nowMs: number): boolean {
  return state === 'enabled' && (expiresAtMs === null || expiresAtMs > nowMs) && isBounded(terms);
}

function isBounded({ spendLimitNanos, budgets }: Pick<LevelTerms, 'spendLimitNanos' | 'budgets'>): boolean {
  return spendLimitNanos !== null || budgets.length > 0;
}

function ownerMoney(
  kind: OwnerMoney['kind'],
  { id, name, spendLimitNanos }: KeyRecord | GroupRecord,
  spends: readonly BudgetSpend[] = [],
  month: MonthFigures | undefined,
  nowMs: number,
): OwnerMoney {
  const ofMonth = spendLimitNanos === null ? [] : [monthSpend(spendLimitNanos, month?.costNanos ?? 0n, nowMs)];
  return { kind, id, name, budgets: [...spends, ...ofMonth] };
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
