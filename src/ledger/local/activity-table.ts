/**
 * The activity of all levels with window entries or open requests, and of idle levels until they are swept. A level
 * takes about 0.6 KB, plus 16 bytes per window entry.
 */

import type { RecentEntry } from '../../state/journal.ts';
import { isKeyId, levelIdsOf } from '../../state/levels.ts';
import type { KeyActivity } from '../../state/nodes.ts';
import type { KeyHandover } from '../handover.ts';
import type { LedgerSnapshot } from '../ledger.ts';
import { Activity } from './activity.ts';

/**
 * Levels checked per sweep: a fixed number, and more for each new level. Refused requests can name any number of end
 * users, so sweeping has to keep up with new levels.
 */
const SWEPT_AT_ONCE = 8;
const SWEPT_FOR_EACH = 2;

export class ActivityTable {
  readonly #byId = new Map<string, Activity>();
  #sweeping = this.#byId.entries();
  /** Number of new levels since the last sweep. */
  #added = 0;
  /** The key of each token count in flight. */
  readonly #counts = new Map<string, string>();

  of(id: string): Activity {
    let activity = this.#byId.get(id);
    if (activity === undefined) {
      activity = new Activity();
      this.#byId.set(id, activity);
      this.#added++;
    }
    return activity;
  }

  /** The activity of a level; undefined if it is idle. */
  active(id: string, nowMs: number): Activity | undefined {
    const activity = this.#byId.get(id);
    return activity?.isIdle(nowMs) === false ? activity : undefined;
  }

  /** Drops idle levels. */
  dropIdle(nowMs: number): void {
    for (const [id, activity] of this.#byId) if (activity.isIdle(nowMs)) this.#byId.delete(id);
  }

  /**
   * Drops idle levels among the next few, which bounds the time of a call by the number of new levels. Must not run
   * while a change may be rolled back.
   */
  sweep(nowMs: number): void {
    const most = SWEPT_AT_ONCE + SWEPT_FOR_EACH * this.#added;
    this.#added = 0;
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

  /** After the clock was set back: moves future entries to `nowMs`. */
  followClock(nowMs: number): void {
    for (const { requests, tokens, listings } of this.#byId.values()) {
      for (const window of [requests, tokens, listings]) window.followClock(nowMs);
    }
  }

  beginCount(countId: string, keyId: string): void {
    this.#counts.set(countId, keyId);
    this.of(keyId).counts++;
  }

  /** Returns its key; undefined if an earlier process began the count. */
  endCount(countId: string): string | undefined {
    const keyId = this.#counts.get(countId);
    if (keyId === undefined) return undefined;
    this.#counts.delete(countId);
    this.of(keyId).counts--;
    return keyId;
  }

  /** Fills the windows with the requests of the last minute before a restart. */
  rebuild(recent: readonly RecentEntry[], wallMs: number, nowMs: number): void {
    // If the wall clock was set back since, entries may have future times.
    const monotonic = (atMs: number) => nowMs - Math.max(0, wallMs - atMs);
    for (const entry of recent.toSorted((a, b) => a.settledAtMs - b.settledAtMs)) {
      if (entry.tokens === 0) continue;
      for (const id of levelIdsOf(entry)) this.of(id).tokens.add(monotonic(entry.settledAtMs), entry.tokens);
    }
    for (const entry of recent.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      for (const id of levelIdsOf(entry)) this.of(id).requests.add(monotonic(entry.admittedAtMs), 1);
    }
  }

  /** The non-empty windows of all levels, with times moved by `shiftMs`. */
  handOver(nowMs: number, shiftMs: number): KeyHandover[] {
    return [...this.#byId].flatMap(([keyId, { requests, tokens, listings }]) => {
      // `total` also drops expired entries.
      const used = [requests, tokens, listings].map((window) => window.total(nowMs));
      if (used.every((total) => total === 0)) return [];
      const entries = { requests: requests.handOver(shiftMs), tokens: tokens.handOver(shiftMs) };
      return [{ keyId, ...entries, listings: listings.handOver(shiftMs) }];
    });
  }

  /** Fills the windows from an earlier process, with times moved by `shiftMs`. */
  adopt(keys: readonly KeyHandover[], shiftMs: number): void {
    for (const { keyId, requests, tokens, listings } of keys) {
      const activity = this.of(keyId);
      activity.requests.adopt(requests, shiftMs);
      activity.tokens.adopt(tokens, shiftMs);
      if (listings.times.length > 0) activity.listings.adopt(listings, shiftMs);
    }
  }

  /** The `most` busiest keys, and the given ones. */
  snapshot(keyIds: readonly string[], most: number, nowMs: number): Pick<LedgerSnapshot, 'busiest' | 'keys'> {
    return { busiest: this.#busiest(most, nowMs), keys: this.#figures(keyIds, nowMs) };
  }

  /** The busiest keys by requests in the last minute. Takes one pass: the table may contain 100,000 keys. */
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

  /** The figures of the given keys, except keys unused since the start. */
  #figures(keyIds: readonly string[], nowMs: number): KeyActivity[] {
    return keyIds.flatMap((keyId) => {
      const activity = this.#byId.get(keyId);
      if (activity === undefined) return [];
      const requests = activity.requests.total(nowMs);
      return [{ keyId, requests, tokens: activity.tokensUsed(nowMs), open: activity.openRequests }];
    });
  }
}
