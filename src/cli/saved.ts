/** Savings of the response cache, shown with `usage`. They are counted by whole days. */
import { existsSync } from 'node:fs';
import type { SavedRow } from '../core/cached-answers.ts';
import { formatUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import type { UsageGroup, UsageRow } from '../state/usage.ts';
import { notice } from './output.ts';

/** The filter of `usage`. */
interface Asked {
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** Bounds of an open range of days. */
const FIRST_DAY = '0000';
const LAST_DAY = '9999';

export async function readSaved(path: string, { keyId, model, sinceMs, untilMs }: Asked): Promise<SavedRow[]> {
  if (!existsSync(path)) return [];
  // Loaded only if the file exists: a gateway on PostgreSQL may not need SQLite.
  const { readSavings } = await import('../state/sqlite/answer-file.ts');
  try {
    const to = untilMs === undefined ? LAST_DAY : dayOf(untilMs - 1);
    return readSavings(path, sinceMs === undefined ? FIRST_DAY : dayOf(sinceMs), to).filter(
      (row) => (keyId === undefined || row.keyId === keyId) && (model === undefined || row.model === model),
    );
  } catch (error) {
    notice(`note: the cache of answers cannot be read: ${error instanceof Error ? error.message : error}`);
    return [];
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The value of a saving for each grouping that savings are counted by. */
const NAMES: Partial<Readonly<Record<UsageGroup, (row: SavedRow) => string>>> = {
  key: ({ keyId }) => keyId,
  model: ({ model }) => model,
  day: ({ day }) => day,
  month: ({ day }) => day.slice(0, 7),
};

/** The JSON fields of a row. Empty without savings, or if savings are not counted by these groupings. */
export function savedJson(
  row: UsageRow,
  by: readonly UsageGroup[],
  saved: readonly SavedRow[],
): Record<string, string | number> {
  if (saved.length === 0 || !by.every((group) => NAMES[group] !== undefined)) return {};
  const nameOf = (group: UsageGroup) => (group === 'key' ? row.keyId : row[group]);
  const { hits, costNanos } = sumOf(
    saved.filter((each) => by.every((group) => NAMES[group]?.(each) === nameOf(group))),
  );
  return { cache_hits: hits, saved_usd: formatUsd(costNanos) };
}

/** One line about the savings; undefined without any. */
export function savedLine(saved: readonly SavedRow[]): string | undefined {
  const { hits, costNanos } = sumOf(saved);
  if (hits === 0) return undefined;
  return `${counted(hits, 'request')} ${hits === 1 ? 'was' : 'were'} answered from the cache, which saved ${formatUsd(costNanos)} USD.`;
}

function sumOf(saved: readonly SavedRow[]): Pick<SavedRow, 'hits' | 'costNanos'> {
  return {
    hits: saved.reduce((sum, { hits }) => sum + hits, 0),
    costNanos: saved.reduce((sum, { costNanos }) => sum + costNanos, 0n),
  };
}
