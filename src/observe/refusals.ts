/** Remembers recent refused requests, which have no journal row. In memory only. */

/** The number of remembered refusals, which take some 25 MB. */
export const MAX_REFUSALS = 100_000;
/** The minutes by which the refusals of a key are counted. */
const REFUSED_MINUTES = 60;
const MINUTE_MS = 60_000;

/** A refused request of a valid key. */
export interface Refusal {
  readonly id: string;
  readonly at_ms: number;
  readonly key_id: string;
  /** The requested model; empty if the request was refused before it was read. */
  readonly model: string;
  readonly code: string;
  /** The reason, if the code has several; otherwise the code. */
  readonly reason: string;
  /** The reason with its figures, in a few words. */
  readonly cause: string;
  /** The end user and the app; empty if unknown. */
  readonly user: string;
  readonly app: string;
}

/** Filters refusals. An undefined field does not filter. */
export interface RefusalQuery {
  readonly id?: string | undefined;
  readonly keyId?: string | undefined;
  readonly user?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Refused before this time. */
  readonly untilMs?: number | undefined;
  /** The maximum number of rows. Further rows of the last millisecond are added. */
  readonly limit: number;
}

export interface RefusalPage {
  /** Newest first. */
  readonly rows: readonly Refusal[];
  /** Whether older rows match as well. */
  readonly has_more: boolean;
  /** The time from which on all refusals are remembered, in milliseconds since 1970. */
  readonly since_ms: number;
}

/** The refusals of a key for one reason in the last hour. */
export interface RefusedMinutes {
  readonly code: string;
  readonly reason: string;
  /** By minute, the oldest first; the last minute is still running. */
  readonly minutes: readonly number[];
  /** The first one in this hour. */
  readonly first_at_ms: number;
}

/** A ring: the newest refusals overwrite the oldest. */
export class Refusals {
  readonly #most: number;
  readonly #ring: Refusal[] = [];
  /** The index of the next refusal once the ring is full. */
  #next = 0;
  readonly #startedAtMs = Date.now();

  constructor(most = MAX_REFUSALS) {
    this.#most = most;
  }

  add(refusal: Refusal): void {
    if (this.#ring.length < this.#most) this.#ring.push(refusal);
    else {
      this.#ring[this.#next] = refusal;
      this.#next = (this.#next + 1) % this.#most;
    }
  }

  page(query: RefusalQuery): RefusalPage {
    const rows: Refusal[] = [];
    let hasMore = false;
    for (const refusal of this.#newestFirst()) {
      if (!matches(refusal, query)) continue;
      hasMore = rows.length >= query.limit && refusal.at_ms !== rows.at(-1)?.at_ms;
      if (hasMore) break;
      rows.push(refusal);
    }
    const oldest = this.#ring.length < this.#most ? undefined : this.#ring[this.#next];
    return { rows, has_more: hasMore, since_ms: oldest?.at_ms ?? this.#startedAtMs };
  }

  /** The reasons of a key's refusals in the last hour, the most frequent first. */
  minutesOf(keyId: string, nowMs: number): RefusedMinutes[] {
    const lastMinute = Math.floor(nowMs / MINUTE_MS);
    const byReason = new Map<string, RefusedMinutes & { minutes: number[] }>();
    for (const { key_id: id, at_ms: atMs, code, reason } of this.#newestFirst()) {
      const place = REFUSED_MINUTES - 1 - (lastMinute - Math.floor(atMs / MINUTE_MS));
      if (id !== keyId || place < 0 || place >= REFUSED_MINUTES) continue;
      const minutes = byReason.get(reason)?.minutes ?? Array<number>(REFUSED_MINUTES).fill(0);
      minutes[place] = (minutes[place] ?? 0) + 1;
      byReason.set(reason, { code, reason, minutes, first_at_ms: atMs });
    }
    return byFrequency([...byReason.values()]);
  }

  *#newestFirst(): Generator<Refusal> {
    const { length } = this.#ring;
    for (let back = 1; back <= length; back++) {
      yield this.#ring[(this.#next - back + length) % length] as Refusal;
    }
  }
}

function matches({ id, key_id: keyId, user, at_ms: atMs }: Refusal, query: RefusalQuery): boolean {
  return (
    (query.id === undefined || query.id === id) &&
    (query.keyId === undefined || query.keyId === keyId) &&
    (query.user === undefined || query.user === user) &&
    atMs >= (query.sinceMs ?? Number.NEGATIVE_INFINITY) &&
    atMs < (query.untilMs ?? Number.POSITIVE_INFINITY)
  );
}

function byFrequency(reasons: readonly RefusedMinutes[]): RefusedMinutes[] {
  const total = ({ minutes }: RefusedMinutes) => minutes.reduce((sum, each) => sum + each, 0);
  return reasons.toSorted((a, b) => total(b) - total(a));
}

/**
 * Merges the pages of several workers. The page ends where one worker's page does, since that worker may have older rows.
 */
export function mergedRefusals(pages: readonly RefusalPage[]): RefusalPage {
  const edgeMs = Math.max(...pages.map(({ rows, has_more: hasMore }) => (hasMore ? (rows.at(-1)?.at_ms ?? 0) : 0)));
  const rows = pages.flatMap((page) => page.rows).filter(({ at_ms: atMs }) => atMs >= edgeMs);
  return {
    rows: rows.toSorted((a, b) => b.at_ms - a.at_ms),
    has_more: pages.some((page) => page.has_more),
    since_ms: Math.max(...pages.map((page) => page.since_ms)),
  };
}

/** Adds the refusals of several workers by reason. */
export function mergedRefusedMinutes(parts: readonly (readonly RefusedMinutes[])[]): RefusedMinutes[] {
  const sums = new Map<string, RefusedMinutes>();
  for (const each of parts.flat()) {
    const sum = sums.get(each.reason);
    const minutes =
      sum === undefined ? each.minutes : sum.minutes.map((number, at) => number + (each.minutes[at] ?? 0));
    const firstAtMs = Math.min(each.first_at_ms, sum?.first_at_ms ?? Number.POSITIVE_INFINITY);
    sums.set(each.reason, { ...each, minutes, first_at_ms: firstAtMs });
  }
  return byFrequency([...sums.values()]);
}
