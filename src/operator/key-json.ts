/** A key as commands and clients read it in JSON. Pure. */
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
  /** The name of the group that it is in; null for none. */
  readonly group: string | null;
}

/** Its limits are those in effect: its own, or the tier's. */
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

/** What a key, a group or an end user has used in a month. */
export function monthJson({ requests, tokens, costNanos }: MonthFigures) {
  return { requests, tokens, cost_usd: formatUsd(costNanos) };
}
