/** Ranges of level ids, so that one query sorts a bounded number of them. */
import type { AuditDialect, Queries } from './checks.ts';

/** Returns an SQL condition: the level id in `column` is in the range. */
export type Range = (column: string) => string;

export const ALL_LEVELS: Range = () => 'true';

/** Ranges that cover all ids, each with at most `sumsAtOnce` of the stored sums. */
export function* levelRanges({ schema, sumsAtOnce }: AuditDialect): Queries<readonly Range[]> {
  const [count] = yield `SELECT count(*) AS sums FROM ${schema}level_days`;
  const bounds: string[] = [];
  for (let at = sumsAtOnce; at < Number(count?.sums); at += sumsAtOnce) {
    const [row] = yield `SELECT level_id FROM ${schema}level_days ORDER BY level_id LIMIT 1 OFFSET ${at}`;
    bounds.push(`'${String(row?.level_id).replaceAll("'", "''")}'`);
  }
  if (bounds.length === 0) return [ALL_LEVELS];
  return [undefined, ...bounds].map((from, index): Range => {
    const to = bounds[index];
    return (column) => [...(from ? [`${column} >= ${from}`] : []), ...(to ? [`${column} < ${to}`] : [])].join(' AND ');
  });
}
