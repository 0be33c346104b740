/** Usage against that of the week before: the same span of time, seven days earlier. Pure. */
import { DAY_MS } from '../core/clock.ts';
import type { UsageGroup, UsageRow } from '../state/usage.ts';
import { idOfUsage } from './lists/usage.ts';
import type { ComparedUsage, Range, UsageOf } from './model.ts';

export const WEEK_MS = 7 * DAY_MS;
/** Longer ranges have the week before in them, and days are compared by their dates. */
const COMPARED: ReadonlySet<Range> = new Set(['today', '24h', '7d']);

export function isCompared(by: UsageGroup, range: Range, of: UsageOf): boolean {
  return COMPARED.has(range) && by !== 'day' && by !== 'month' && of.period === undefined;
}

/** Each row with what it cost then; also those that cost something only then. */
export function compared(rows: readonly UsageRow[], before: readonly UsageRow[]): readonly ComparedUsage[] {
  const costs = new Map(before.map((row) => [idOfUsage(row), row.costNanos]));
  const ids = new Set(rows.map(idOfUsage));
  const gone = before.filter((row) => row.costNanos > 0n && !ids.has(idOfUsage(row))).map(emptied);
  return [...rows, ...gone].map((row) => ({ ...row, beforeNanos: costs.get(idOfUsage(row)) ?? 0n }));
}

function emptied(row: UsageRow): UsageRow {
  const none = { requests: 0, errors: 0, promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
  return { ...row, ...none, costNanos: 0n };
}
