/** Counts the failures of one upstream in the last hour, by cause. In memory only. */
import { RecentCounts } from './recent-counts.ts';
import type { FailureCause } from './worker-snapshot.ts';

/** The last hour, in steps of equal length. The last step is still running. */
const STEPS = 12;
const STEP_S = 300;
/** The number of remembered causes per upstream. An upstream may answer with any status, so the oldest are dropped. */
const MAX_CAUSES = 32;
/** The number of causes in a snapshot. */
export const SHOWN_CAUSES = 8;

/** An attempt that failed because of its upstream. */
export interface AttemptFailure {
  /** The cause by which failures are grouped, such as `429` or `not_connected`: see `causeOf` in `core/failure.ts`. */
  readonly cause: string;
  /** The message for the operator. */
  readonly message: string;
}

interface Counted extends AttemptFailure {
  readonly counts: RecentCounts;
  readonly atMs: number;
}

export class FailureCauses {
  /** In the order of their last failure. */
  readonly #causes = new Map<string, Counted>();

  /** The last failure; undefined without one. */
  last: { readonly at_ms: number; readonly message: string } | undefined;

  count({ cause, message }: AttemptFailure, nowMs: number): void {
    const counts = this.#causes.get(cause)?.counts ?? new RecentCounts(STEPS, STEP_S);
    counts.add(Math.floor(nowMs / 1000), 1);
    this.#causes.delete(cause);
    if (this.#causes.size >= MAX_CAUSES) this.#causes.delete(this.#causes.keys().next().value as string);
    this.#causes.set(cause, { cause, message, counts, atMs: nowMs });
    this.last = { at_ms: nowMs, message };
  }

  /** The causes of the last hour, the most frequent first. */
  all(nowMs: number): FailureCause[] {
    const nowS = Math.floor(nowMs / 1000);
    return mostFrequent(
      [...this.#causes.values()].map(({ cause, message, counts, atMs }) => {
        return { cause, count: counts.total(nowS), message, at_ms: atMs };
      }),
    );
  }
}

/** Adds the causes of one upstream over several workers. */
export function mergedCauses(parts: readonly (readonly FailureCause[])[]): FailureCause[] {
  const sums = new Map<string, FailureCause>();
  for (const each of parts.flat()) {
    const sum = sums.get(each.cause);
    const latest = sum === undefined || each.at_ms > sum.at_ms ? each : sum;
    sums.set(each.cause, { ...latest, count: each.count + (sum?.count ?? 0) });
  }
  return mostFrequent([...sums.values()]);
}

function mostFrequent(causes: readonly FailureCause[]): FailureCause[] {
  return causes
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || b.at_ms - a.at_ms)
    .slice(0, SHOWN_CAUSES);
}
