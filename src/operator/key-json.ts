/** The JSON of a key for commands and for clients. Pure. */
import type { BudgetSpend } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import type { Limits } from '../core/limits.ts';
import { formatUsd } from '../core/money.ts';
import type { KeyRecord } from '../state/keys.ts';
import type { MonthFigures } from '../state/usage.ts';
import { termsJson, userLimitsJson } from './terms.ts';

export interface KeyFigures {
  readonly month: MonthFigures;
  readonly spends: readonly BudgetSpend[];
  /** The name of its group, or null. */
  readonly group: string | null;
}

/** Limits are those in force: of the key itself, or of its tier. */
export function keyJson(key: KeyRecord, { month, spends, group }: KeyFigures, tier: Limits) {
  return {
    id: key.id,
    name: key.name,
    preview: key.preview,
    group,
    state: key.state,
    ...termsJson(key, tier, spends),
    user_limits: userLimitsJson(key.userLimits),
    created_at: isoTime(key.createdAtMs),
    month: monthJson(month),
  };
}

/** The JSON of the usage of a key, group or end user in a month. */
export function monthJson({ requests, tokens, costNanos }: MonthFigures) {
  return { requests, tokens, cost_usd: formatUsd(costNanos) };
}
