/**
 * The activity of every key used since the start. A key takes about 1 KB, and 16 bytes per entry of
 * its windows.
 */

import type { RecentEntry } from '../../state/journal.ts';
import type { KeyHandover } from '../handover.ts';
import type { KeyActivity, LedgerSnapshot } from '../ledger.ts';
import { Activity } from './activity.ts';

export class ActivityTable {
  readonly #byKey = new Map<string, Activity>();
  /** The key of each count of tokens in flight. */
  readonly #counts = new Map<string, string>();

  of(keyId: string): Activity {
    let activity = this.#byKey.get(keyId);
    if (activity === undefined) {
      activity = new Activity();
      this.#byKey.set(keyId, activity);
    }
    return activity;
  }

  /** Of a key with something in its windows or in flight. */
  active(keyId: string, nowMs: number): Activity | undefined {
    const activity = this.#byKey.get(keyId);
    return activity?.isIdle(nowMs) === false ? activity : undefined;
  }

  /** Forgets keys without anything. */
  dropIdle(nowMs: number): void {
    for (const [keyId, activity] of this.#byKey) if (activity.isIdle(nowMs)) this.#byKey.delete(keyId);
  }

  /** Dates now what is dated after it. */
  followClock(nowMs: number): void {
    for (const { requests, tokens, listings } of this.#byKey.values()) {
      for (const window of [requests, tokens, listings]) window.followClock(nowMs);
    }
  }

  beginCount(countId: string, keyId: string): void {
    this.#counts.set(countId, keyId);
    this.of(keyId).counts++;
  }

  /** Returns its key; undefined if it is not known here, since an earlier process has begun it. */
  endCount(countId: string): string | undefined {
    const keyId = this.#counts.get(countId);
    if (keyId === undefined) return undefined;
    this.#counts.delete(countId);
    this.of(keyId).counts--;
    return keyId;
  }

  /** Fills the windows with the requests of the last minute before a start. */
  rebuild(recent: readonly RecentEntry[], wallMs: number, nowMs: number): void {
    // If the wall clock was set back since, entries would lie in the future.
    const monotonic = (atMs: number) => nowMs - Math.max(0, wallMs - atMs);
    for (const entry of recent.toSorted((a, b) => a.settledAtMs - b.settledAtMs)) {
      if (entry.tokens > 0) this.of(entry.keyId).tokens.add(monotonic(entry.settledAtMs), entry.tokens);
    }
    for (const entry of recent.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      this.of(entry.keyId).requests.add(monotonic(entry.admittedAtMs), 1);
    }
  }

  /** The windows of all keys that have entries in one, with their times moved by `shiftMs`. */
  handOver(nowMs: number, shiftMs: number): KeyHandover[] {
    return [...this.#byKey].flatMap(([keyId, { requests, tokens, listings }]) => {
      // The totals drop what has left.
      const used = [requests, tokens, listings].map((window) => window.total(nowMs));
      if (used.every((total) => total === 0)) return [];
      const entries = { requests: requests.handOver(shiftMs), tokens: tokens.handOver(shiftMs) };
      return [{ keyId, ...entries, listings: listings.handOver(shiftMs) }];
    });
  }

  /** Fills the windows with those of an earlier process, with their times moved by `shiftMs`. */
  adopt(keys: readonly KeyHandover[], shiftMs: number): void {
    for (const { keyId, requests, tokens, listings } of keys) {
      const activity = this.of(keyId);
      activity.requests.adopt(requests, shiftMs);
      activity.tokens.adopt(tokens, shiftMs);
      activity.listings.adopt(listings, shiftMs);
    }
  }

  /** The busiest keys, `most` of them at most, and these. */
  snapshot(keyIds: readonly string[], most: number, nowMs: number): Pick<LedgerSnapshot, 'busiest' | 'keys'> {
    return { busiest: this.#busiest(most, nowMs), keys: this.#figures(keyIds, nowMs) };
  }

  /** By requests in the last minute. One pass: there may be 100,000 keys. */
  #busiest(most: number, nowMs: number): KeyActivity[] {
    const top: { keyId: string; requests: number }[] = [];
    for (const [keyId, activity] of this.#byKey) {
      const requests = activity.requests.total(nowMs);
      const least = top.length < most ? 0 : (top.at(-1)?.requests ?? 0);
      if (requests + activity.openRequests === 0 || (top.length === most && requests <= least)) continue;
      const place = top.findIndex((other) => other.requests < requests);
      top.splice(place < 0 ? top.length : place, 0, { keyId, requests });
      if (top.length > most) top.pop();
    }
    return this.#figures(
      top.map(({ keyId }) => keyId),
      nowMs,
    );
  }

  /** The figures of these keys. Keys that were not used since the start are left out. */
  #figures(keyIds: readonly string[], nowMs: number): KeyActivity[] {
    return keyIds.flatMap((keyId) => {
      const activity = this.#byKey.get(keyId);
      if (activity === undefined) return [];
      const requests = activity.requests.total(nowMs);
      return [{ keyId, requests, tokens: activity.tokensUsed(nowMs), open: activity.openRequests }];
    });
  }
}
