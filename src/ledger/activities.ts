/** What all keys are doing that were used since the start: about 1 KB for each, and what its windows hold. */

import type { RecentEntry } from '../state/journal.ts';
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

  /** Fills the windows with what was admitted and settled in the last minute before a start. */
  rebuild(recent: readonly RecentEntry[], wallMs: number, nowMs: number): void {
    // A wall clock that was set back since would put entries into the future.
    const monotonic = (atMs: number) => nowMs - Math.max(0, wallMs - atMs);
    for (const entry of recent.toSorted((a, b) => a.settledAtMs - b.settledAtMs)) {
      if (entry.tokens > 0) this.of(entry.keyId).tokens.add(monotonic(entry.settledAtMs), entry.tokens);
    }
    for (const entry of recent.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      this.of(entry.keyId).requests.add(monotonic(entry.admittedAtMs), 1);
    }
  }

  /** The keys with most requests in the last minute first, so many at most. One pass, for there may be 100,000 of them. */
  busiest(most: number, nowMs: number): KeyActivity[] {
    const top: { keyId: string; requests: number }[] = [];
    for (const [keyId, activity] of this.#byKey) {
      const requests = activity.requests.total(nowMs);
      const least = top.length < most ? 0 : (top.at(-1)?.requests ?? 0);
      if (requests + activity.openRequests === 0 || (top.length === most && requests <= least)) continue;
      const place = top.findIndex((other) => other.requests < requests);
      top.splice(place < 0 ? top.length : place, 0, { keyId, requests });
      if (top.length > most) top.pop();
    }
    return this.figures(
      top.map(({ keyId }) => keyId),
      nowMs,
    );
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
