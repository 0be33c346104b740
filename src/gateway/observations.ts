/** What alerts need from the snapshots of the workers. Pure. */
import { MONEY_CODES, type ObservedUpstream, type RefusedForMoney } from '../alerts/observation.ts';
import type { WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { mergedUpstreams } from './snapshot.ts';

/** Keys that were refused for money between two looks and are told, at most. */
const MAX_REFUSED = 50;

/** `workers` have the seconds of the last {@link RECENT_S}. */
export function observedUpstreams(workers: readonly WorkerSnapshot[]): ObservedUpstream[] {
  const seconds = workers.flatMap((worker) => worker.seconds);
  return mergedUpstreams(workers).map(({ upstream, provider, requests, failures, last_failure: last }) => {
    const recent = seconds.map(({ attempts }) => attempts.get(upstream));
    return {
      upstream,
      provider,
      // The circuit breaker of any worker: of several states a snapshot shows another one.
      isOpen: workers.some((worker) =>
        worker.upstreams.some((each) => each.upstream === upstream && each.state === 'open'),
      ),
      requests,
      failures,
      recentRequests: recent.reduce((sum, counts) => sum + (counts?.requests ?? 0), 0),
      recentFailures: recent.reduce((sum, counts) => sum + (counts?.failures ?? 0), 0),
      cause: last?.message,
    };
  });
}

/** Whether a request was refused for money in one of the seconds from `sinceS` on. */
export function hasRefusedForMoney(workers: readonly WorkerSnapshot[], sinceS: number): boolean {
  return workers.some(({ seconds }) =>
    seconds.some(({ atS, errors }) => atS >= sinceS && MONEY_CODES.some((code) => errors.has(code))),
  );
}

/** Who was refused for money, by the latest requests that the workers remember. */
export function refusedForMoney(workers: readonly WorkerSnapshot[]): RefusedForMoney[] {
  const refused = new Map<string, RefusedForMoney>();
  for (const { outcome, key_id: keyId } of workers.flatMap(({ recent }) => recent)) {
    const code = MONEY_CODES.find((each) => each === outcome);
    if (code === undefined) continue;
    // Credit is missing for all keys alike.
    const subject = code === 'insufficient_credit' ? code : keyId;
    const before = refused.get(subject);
    if (before === undefined && refused.size >= MAX_REFUSED) continue;
    refused.set(subject, { code, keyId, requests: (before?.requests ?? 0) + 1 });
  }
  return [...refused.values()];
}
