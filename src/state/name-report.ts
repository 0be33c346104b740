/** The rows of a report by user, tag or app. */
import { type NameKind, OTHER_NAMES } from '../core/spent-by.ts';
import { NAME_COLUMNS } from './names.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import type { Period } from './periods.ts';
import type { Row } from './rows.ts';
import { hasLevel, ROW_FIGURES, SUM_FIGURES, sumsOf } from './sql.ts';
import type { UsageQuery } from './usage.ts';

const FIGURES = SUM_FIGURES.join(', ');
const TAKEN_OUT = SUM_FIGURES.map((figure) => `-${figure} AS ${figure}`).join(', ');

/**
 * Sums by name are kept by day alone. The requests that have no name are not among them: they are what is missing to
 * the sums of all requests. What was booked to a group has no sums by name: there all periods are moments.
 */
export function nameReport(
  periods: readonly Period[],
  by: NameKind,
  query: UsageQuery,
  dialect: Dialect,
): Operation<Row[]> {
  const values: (string | number)[] = [];
  const parameter = (value: string | number) => `$${values.push(value)}`;
  const within = (time: string, { from, to }: Period) => {
    const filters = [`${time} >= ${parameter(from)}`, `${time} < ${parameter(to)}`];
    if (query.keyId !== undefined) filters.push(`key_id = ${parameter(query.keyId)}`);
    if (query.model !== undefined) filters.push(`model = ${parameter(query.model)}`);
    if (query.groupId !== undefined) filters.push(hasLevel('j.levels', query.groupId, parameter));
    return filters.join(' AND ');
  };
  const named = (figures: string, name: string, period: Period) =>
    // A day sorts after its own month, and before the next one.
    `SELECT ${name} AS name, ${figures} FROM inf_gw.usage_name_days
       WHERE kind = ${parameter(by)} AND ${within('day', period)}`;
  const parts = periods.flatMap((period) => {
    if (period.kind === 'moments') return [`${momentsSelect(by, dialect)} WHERE ${within('admitted_at_ms', period)}`];
    const [table, time] =
      period.kind === 'months' ? (['usage_months', 'month'] as const) : (['usage_days', 'day'] as const);
    return [
      `SELECT '' AS name, ${FIGURES} FROM inf_gw.${table} WHERE ${within(time, period)}`,
      named(TAKEN_OUT, `''`, period),
      named(FIGURES, 'name', period),
    ];
  });
  // An empty range has no parts.
  const figures = parts.join(' UNION ALL ') || `SELECT '' AS name, ${FIGURES} FROM inf_gw.usage_days WHERE false`;
  return rows(
    `SELECT u.name AS ${by}, ${sumsOf(SUM_FIGURES)} FROM (${figures}) AS u GROUP BY u.name
      HAVING sum(u.requests) > 0 ORDER BY cost_nanos DESC, requests DESC, u.name`,
    values,
  );
}

/** The journal has all names; those that their key has no place for count as `other` here, too. */
function momentsSelect(by: NameKind, { admissionMonth }: Dialect): string {
  const column = NAME_COLUMNS[by];
  return `SELECT CASE WHEN j.${column} IS NULL THEN '' ELSE coalesce((SELECT n.name FROM inf_gw.usage_name_keys AS n
        WHERE n.month = ${admissionMonth} AND n.kind = '${by}' AND n.key_id = j.key_id AND n.name = j.${column}),
      '${OTHER_NAMES}') END AS name, ${ROW_FIGURES} FROM inf_gw.journal AS j`;
}
