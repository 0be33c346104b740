/** Has an engine measure how long its batches and flushes take, for metrics. */
import { DISK_BOUNDS, type DurationCounts, type LedgerTimes, recordDuration } from '../core/durations.ts';
import type { Engine, Eventual } from './engine.ts';

/** Does nothing if there is nowhere to count. */
export function measure(engine: Engine, times: LedgerTimes | undefined): void {
  if (times === undefined) return;
  Object.assign(engine, {
    process: timed(times.batch, engine.process.bind(engine)),
    flush: timed(times.sync, engine.flush.bind(engine)),
  });
}

/** What fails takes its time as well. */
function timed<Arguments extends unknown[], Result>(
  counts: DurationCounts,
  run: (...args: Arguments) => Eventual<Result>,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    const startedAtMs = performance.now();
    try {
      return await run(...args);
    } finally {
      recordDuration(counts, DISK_BOUNDS, performance.now() - startedAtMs);
    }
  };
}
