/** What the times in the journal tell of limits: they are all of one clock, the database's. Pure. */
import type { Row } from './cluster.ts';

/** The largest number of admissions in any stretch of that length. */
export function mostWithin(rows: readonly Row[], lengthMs: number): number {
  const times = rows.map(({ admittedAtMs }) => admittedAtMs).sort((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [index, atMs] of times.entries()) {
    // Times are cut to whole milliseconds, so those at a distance of exactly the length may be closer.
    while ((times[first] as number) <= atMs - lengthMs + 1) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** The largest number of requests that were open at the same time. */
export function mostAtOnce(rows: readonly Row[]): number {
  const changes = rows.flatMap(({ admittedAtMs, settledAtMs }) => [
    { atMs: admittedAtMs, by: 1 },
    { atMs: settledAtMs, by: -1 },
  ]);
  // Within a millisecond the order is not known.
  changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  let open = 0;
  let most = 0;
  for (const { by } of changes) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}
