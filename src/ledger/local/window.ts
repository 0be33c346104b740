/**
 * An exact sliding window over the last 60 seconds, entry by entry. Pure: the time is an argument.
 */

export const WINDOW_MS = 60_000;

/** A weight that leaves the window at a known time, in monotonic milliseconds. */
export interface Leaving {
  readonly atMs: number;
  readonly weight: number;
}

/** The entries of a window, oldest first. */
export interface WindowEntries {
  readonly times: readonly number[];
  /** A plain array: a window would store values read from a typed array as doubles, which takes a third more memory. */
  readonly weights: readonly number[];
}

const FIRST_CAPACITY = 1;
/** Shared by unused windows: most levels never use all of theirs. */
const NOTHING: number[] = [];

/**
 * A ring buffer of entries in order of time. An entry added at t counts at every moment before t + 60 s. The ring grows
 * to the number of entries that the limit admits in a minute, at 16 bytes each.
 */
export class SlidingWindow {
  /** Times and weights alternate. A short plain array takes a third of the memory of two typed arrays. */
  #ring = NOTHING;
  #capacity = 0;
  #head = 0;
  #size = 0;
  #total = 0;

  /** The total weight of the entries of the 60 seconds before `nowMs`. */
  total(nowMs: number): number {
    while (this.#size > 0 && this.#timeAt(0) + WINDOW_MS <= nowMs) {
      this.#total -= this.#weightAt(0);
      this.#head = (this.#head + 1) % this.#capacity;
      this.#size--;
    }
    return this.#total;
  }

  /** Adds an entry. `nowMs` must not precede an earlier entry. */
  add(nowMs: number, weight: number): void {
    if (this.#size === this.#capacity) this.#grow();
    const index = this.#indexOf(this.#size);
    this.#ring[index] = nowMs;
    this.#ring[index + 1] = weight;
    this.#size++;
    this.#total += weight;
  }

  /** Removes the newest entry. */
  undoAdd(): void {
    if (this.#size === 0) return;
    this.#total -= this.#weightAt(this.#size - 1);
    this.#size--;
  }

  /** Removes a weight added at `atMs`, unless it has already left. */
  take(atMs: number, weight: number): void {
    // The weight may be spread over several entries, if earlier removals took part of an entry of the same moment.
    let left = weight;
    this.#replace((time, before) => {
      const taken = time === atMs ? Math.min(left, before) : 0;
      left -= taken;
      return [time, before - taken];
    });
  }

  /** After the clock was set back: moves future entries to `nowMs`. */
  followClock(nowMs: number): void {
    if (this.#size > 0 && this.#timeAt(this.#size - 1) > nowMs) {
      this.#replace((time, weight) => [Math.min(time, nowMs), weight]);
    }
  }

  /** When the newest entry leaves; undefined if the window is empty. */
  emptyAtMs(): number | undefined {
    return this.#size === 0 ? undefined : this.#timeAt(this.#size - 1) + WINDOW_MS;
  }

  /** Whether all entries have left by `nowMs`. */
  isEmpty(nowMs: number): boolean {
    return this.#size === 0 || this.#timeAt(this.#size - 1) + WINDOW_MS <= nowMs;
  }

  /** The entries in the order in which they leave. */
  *leaving(): Generator<Leaving> {
    for (let i = 0; i < this.#size; i++) yield { atMs: this.#timeAt(i) + WINDOW_MS, weight: this.#weightAt(i) };
  }

  /** Returns the entries, with times moved by `shiftMs`. */
  handOver(shiftMs: number): WindowEntries {
    const times = Array.from({ length: this.#size }, (_, i) => this.#timeAt(i) + shiftMs);
    return { times, weights: Array.from({ length: this.#size }, (_, i) => this.#weightAt(i)) };
  }

  /** Adds the entries of another window, with times moved by `shiftMs`. */
  adopt({ times, weights }: WindowEntries, shiftMs: number): void {
    for (const [i, time] of times.entries()) this.add(time + shiftMs, weights[i] as number);
  }

  #replace(change: (time: number, weight: number) => readonly [time: number, weight: number]): void {
    const { times, weights } = this.handOver(0);
    this.#head = this.#size = this.#total = 0;
    for (const [i, before] of times.entries()) {
      const [time, weight] = change(before, weights[i] as number);
      if (weight > 0) this.add(time, weight);
    }
  }

  #indexOf(position: number): number {
    return 2 * ((this.#head + position) % this.#capacity);
  }

  #timeAt(position: number): number {
    return this.#ring[this.#indexOf(position)] as number;
  }

  #weightAt(position: number): number {
    return this.#ring[this.#indexOf(position) + 1] as number;
  }

  #grow(): void {
    const capacity = Math.max(FIRST_CAPACITY, this.#capacity * 2);
    const ring = new Array<number>(2 * capacity).fill(0);
    for (let i = 0; i < this.#size; i++) {
      ring[2 * i] = this.#timeAt(i);
      ring[2 * i + 1] = this.#weightAt(i);
    }
    this.#ring = ring;
    this.#capacity = capacity;
    this.#head = 0;
  }
}

/**
 * The time at which a weight of at least `need` has left, from two sources in order of time. Infinity if the sources
 * hold less.
 */
export function timeUntilFreed(need: number, first: Iterable<Leaving>, second: Iterable<Leaving>): number {
  const sources = [first[Symbol.iterator](), second[Symbol.iterator]()];
  const heads = sources.map((source) => source.next());
  let freed = 0;
  while (true) {
    let earliest = -1;
    for (const [index, head] of heads.entries()) {
      if (head.done !== true && (earliest < 0 || head.value.atMs < leavingAt(heads[earliest]))) earliest = index;
    }
    const head = heads[earliest];
    if (head === undefined || head.done === true) return Number.POSITIVE_INFINITY;
    freed += head.value.weight;
    if (freed >= need) return head.value.atMs;
    heads[earliest] = (sources[earliest] as Iterator<Leaving>).next();
  }
}

function leavingAt(head: IteratorResult<Leaving> | undefined): number {
  return head === undefined || head.done === true ? Number.POSITIVE_INFINITY : head.value.atMs;
}

const WINDOW_S = WINDOW_MS / 1000;

/** Whole seconds between two times, rounded up, from 1 to 60. */
export function secondsUntil(thenMs: number, nowMs: number): number {
  // An entry stays for at most 60 seconds. Rounding errors of the times could give 61.
  return Math.min(WINDOW_S, Math.max(1, Math.ceil((thenMs - nowMs) / 1000)));
}
