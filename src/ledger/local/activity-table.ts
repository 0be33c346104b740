/**
 * The activity of all levels that have something in their windows or in flight, and of some that have had. A level takes
 * about 0.6 KB, and 16 bytes per entry of its windows.
 */

import type { RecentEntry } from '../../state/journal.ts';
import { isKeyId, levelIdsOf } from '../../state/levels.ts';
import type { KeyActivity } from '../../state/nodes.ts';
import type { KeyHandover } from '../handover.ts';
import type { LedgerSnapshot } from '../ledger.ts';
import { Activity } from './activity.ts';

/** Looked at after each batch, and for each level that has come since: refused requests can name any number of end users. */
const SWEPT_AT_ONCE = 8;
const SWEPT_FOR_EACH = 2;

export class ActivityTable {
  readonly #byId = new Map<string, Activity>();
  #sweeping = this.#byId.entries();
  /** How many levels have come since the last sweep. */
  #come = 0;
  /** The key of each count of tokens in flight. */
  readonly #counts = new Map<string, string>();

  of(id: string): Activity {
    let activity = this.#byId.get(id);
    if (activity === undefined) {
      activity = new Activity();
      this.#byId.set(id, activity);
      this.#come++;
    }
    return activity;
  }

  /** Of a level with something in its windows or in flight. */
  active(id: string, nowMs: number): Activity | undefined {
    const activity = this.#byId.get(id);
    return activity?.isIdle(nowMs) === false ? activity : undefined;
  }

  /** Forgets levels without anything. */
  dropIdle(nowMs: number): void {
    for (const [id, activity] of this.#byId) if (activity.isIdle(nowMs)) this.#byId.delete(id);
  }

  /**
   * Forgets of the next few levels those without anything: however many there are, a call takes as long as it took for them
   * to come. Not to be called while a change may be undone.
   */
  sweep(nowMs: number): void {
    const most = SWEPT_AT_ONCE + SWEPT_FOR_EACH * this.#come;
    this.#come = 0;
    for (let looked = 0; looked < most; looked++) {
      const next = this.#sweeping.next();
      if (next.done === true) {
        this.#sweeping = this.#byId.entries();
        return;
      }
      const [id, activity] = next.value;
      if (activity.isIdle(nowMs)) this.#byId.delete(id);
    }
  }

  /** Dates now what is dated after it. */
  followClock(nowMs: number): void {
    for (const { requests, tokens, listings } of this.#byId.values()) {
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
      if (entry.tokens === 0) continue;
      for (const id of levelIdsOf(entry)) this.of(id).tokens.add(monotonic(entry.settledAtMs), entry.tokens);
    }
    for (const entry of recent.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      for (const id of levelIdsOf(entry)) this.of(id).requests.add(monotonic(entry.admittedAtMs), 1);
    }
  }

  /** The windows of all levels that have entries in one, with their times moved by `shiftMs`. */
  handOver(nowMs: number, shiftMs: number): KeyHandover[] {
    return [...this.#byId].flatMap(([keyId, { requests, tokens, listings }]) => {
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
      if (listings.times.length > 0) activity.listings.adopt(listings, shiftMs);
    }
  }

  /** The busiest keys, `most` of them at most, and these. */
  snapshot(keyIds: readonly string[], most: number, nowMs: number): Pick<LedgerSnapshot, 'busiest' | 'keys'> {
    return { busiest: this.#busiest(most, nowMs), keys: this.#figures(keyIds, nowMs) };
  }

  /** By requests in the last minute. One pass: there may be 100,000 keys. */
  #busiest(most: number, nowMs: number): KeyActivity[] {
    const top: { keyId: string; requests: number }[] = [];
    for (const [keyId, activity] of this.#byId) {
      if (!isKeyId(keyId)) continue;
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
      const activity = this.#byId.get(keyId);
      if (activity === undefined) return [];
      const requests = activity.requests.total(nowMs);
      return [{ keyId, requests, tokens: activity.tokensUsed(nowMs), open: activity.openRequests }];
    });
  }
}
