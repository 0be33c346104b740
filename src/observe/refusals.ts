/** The requests that were refused lately: their journal, which has the admitted ones alone, does not know them. In memory only. */

/** How many refusals a gateway remembers, some 25 MB. */
export const MAX_REFUSALS = 100_000;
/** The minutes that a key's refusals are counted by. */
const REFUSED_MINUTES = 60;
const MINUTE_MS = 60_000;

/** A refused request of a valid key. */
export interface Refusal {
  readonly id: string;
  readonly at_ms: number;
  readonly key_id: string;
  /** As the client named it; empty if it was refused before that was known. */
  readonly model: string;
  readonly code: string;
  /** The reason, if the code has several; otherwise the code. */
  readonly reason: string;
  /** Why, in a few words. */
  readonly cause: string;
  /** Who it was for; each is empty if it did not say. */
  readonly user: string;
  readonly app: string;
}

/** Which refusals to report; undefined leaves a condition out. */
export interface RefusalQuery {
  readonly id?: string | undefined;
  readonly keyId?: string | undefined;
  readonly user?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Refused earlier. */
  readonly untilMs?: number | undefined;
  /** At most so many, and then the rest of the last millisecond. */
  readonly limit: number;
}

export interface RefusalPage {
  /** Newest first. */
  readonly rows: readonly Refusal[];
  /** Whether older ones match as well. */
  readonly has_more: boolean;
  /** From when on all refusals are known, in milliseconds since 1970. */
  readonly since_ms: number;
}

/** How often a key was refused for one reason in the last hour. */
export interface RefusedMinutes {
  readonly code: string;
  readonly reason: string;
  /** Minute by minute, the oldest first; the last one is still running. */
  readonly minutes: readonly number[];
  /** When it was first, in this hour. */
  readonly first_at_ms: number;
}

/** A ring: the newest push out the oldest. */
export class Refusals {
  readonly #most: number;
  readonly #ring: Refusal[] = [];
  /** Where the next one goes once the ring is full. */
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

  /** The reasons for which a key was refused in the last hour, the most frequent first. */
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

/** What several workers report, as one page: none older than what each of them has told completely. */
export function mergedRefusals(pages: readonly RefusalPage[]): RefusalPage {
  const edgeMs = Math.max(...pages.map(({ rows, has_more: hasMore }) => (hasMore ? (rows.at(-1)?.at_ms ?? 0) : 0)));
  const rows = pages.flatMap((page) => page.rows).filter(({ at_ms: atMs }) => atMs >= edgeMs);
  return {
    rows: rows.toSorted((a, b) => b.at_ms - a.at_ms),
    has_more: pages.some((page) => page.has_more),
    since_ms: Math.max(...pages.map((page) => page.since_ms)),
  };
}

/** The same reasons of several workers, added up. */
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
