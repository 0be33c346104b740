/** What all keys are doing that were used since the start: about 1 KB for each, and what its windows hold. */
import { Activity } from './activity.ts';
import type { KeyActivity } from './ledger.ts';

export class Activities {
  readonly #byKey = new Map<string, Activity>();

  of(keyId: string): Activity {
    let activity = this.#byKey.get(keyId);
    if (activity === undefined) {
      activity = new Activity();
      this.#byKey.set(keyId, activity);
    }
    return activity;
  }

  /** The keys with most requests in the last minute first, so many at most. */
  busiest(most: number, nowMs: number): KeyActivity[] {
    return this.figures([...this.#byKey.keys()], nowMs)
      .filter(({ requests, open }) => requests + open > 0)
      .toSorted((a, b) => b.requests - a.requests)
      .slice(0, most);
  }

  /** The figures of these keys, as far as they were used since the start. */
  figures(keyIds: readonly string[], nowMs: number): KeyActivity[] {
    return keyIds.flatMap((keyId) => {
      const activity = this.#byKey.get(keyId);
      if (activity === undefined) return [];
      const requests = activity.requests.total(nowMs);
      return [{ keyId, requests, tokens: activity.tokensUsed(nowMs), open: activity.openRequests }];
    });
  }
}
