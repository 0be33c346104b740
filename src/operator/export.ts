/** Usage and requests as programs read them: JSON, and CSV with the same fields. Pure. */
import { formatUsd } from '../core/money.ts';
import type { UsageGroup, UsageRow } from '../state/usage.ts';

/** The fields that identify a row, by grouping. */
const NAMES: Readonly<Record<UsageGroup, readonly (UsageGroup | 'key_id' | 'group_id')[]>> = {
  key: ['key', 'key_id'],
  model: ['model'],
  group: ['group', 'group_id'],
  hour: ['hour'],
  day: ['day'],
  month: ['month'],
  source: ['source'],
  user: ['user'],
  tag: ['tag'],
  app: ['app'],
};

const FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'total_tokens',
  'cost_usd',
] as const;

/** The JSON of a row of a report with these groupings. */
export function usageJson(row: UsageRow, ...by: readonly UsageGroup[]): Record<string, string | number> {
  const names = {
    key: row.key ?? '',
    key_id: row.keyId ?? '',
    model: row.model ?? '',
    group: row.group ?? '',
    group_id: row.groupId ?? '',
    hour: row.hour ?? '',
    day: row.day ?? '',
    month: row.month ?? '',
    source: row.source ?? '',
    user: row.user ?? '',
    tag: row.tag ?? '',
    app: row.app ?? '',
  };
  return {
    ...Object.fromEntries(by.flatMap((group) => NAMES[group]).map((name) => [name, names[name]])),
    requests: row.requests,
    errors: row.errors,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    cache_write_tokens: row.cacheWriteTokens,
    completion_tokens: row.completionTokens,
    total_tokens: row.promptTokens + row.completionTokens,
    cost_usd: formatUsd(row.costNanos),
  };
}

/**
 * Comma-separated values with a header line; cells are quoted where CSV needs it. Names come from clients: a spreadsheet
 * would run a name that looks like a formula, so such a cell gets an apostrophe in front, which makes it a text.
 */
export function usageCsv(rows: readonly UsageRow[], ...by: readonly UsageGroup[]): string {
  const head = [...by.flatMap((group) => NAMES[group]), ...FIGURES];
  return linesOf([head, ...rows.map((row) => Object.values(usageJson(row, ...by)).map(String))]);
}

/** Rows with the same fields as CSV, as `usageCsv`. A value that is null is an empty cell. Empty without rows. */
export function csvText(rows: readonly Readonly<Record<string, string | number | null>>[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  return linesOf([Object.keys(first), ...rows.map((row) => Object.values(row).map((value) => String(value ?? '')))]);
}

function linesOf(lines: readonly (readonly string[])[]): string {
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\n`).join('');
}

const FORMULA = /^[=+\-@\t\r]/;
/** A plain number, negative ones included, is not a formula. */
const NUMBER = /^-?\d+(?:\.\d+)?$/;

function csvCell(cell: string): string {
  const text = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
