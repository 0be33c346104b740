/**
 * A hash table for values that exist for the duration of a request, keyed by request id.
 *
 * It replaces a Map for the reason given in `roster.ts`: the outgrown tables of a Map would carry every request into V8's old
 * generation. Here an entry is referenced only from its bucket.
 */

interface Entry<Value> {
  readonly id: string;
  value: Value;
  next: Entry<Value> | undefined;
}

/** The number of buckets is always a power of two. */
const FIRST_BUCKETS = 8;
/** The last characters of an id are random; this many distribute ids evenly over the buckets. */
const HASHED_CHARACTERS = 6;

export class IdTable<Value> {
  #buckets: (Entry<Value> | undefined)[] = emptyBuckets(FIRST_BUCKETS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): Value | undefined {
    return this.#entryOf(id)?.value;
  }

  /** Adds a value. Returns false, and changes nothing, if `id` is in the table. */
  add(id: string, value: Value): boolean {
    if (this.#size === this.#buckets.length) this.#grow();
    const bucket = this.#bucketOf(id);
    const first = this.#buckets[bucket];
    if (findIn(first, id) !== undefined) return false;
    this.#buckets[bucket] = { id, value, next: first };
    this.#size++;
    return true;
  }

  /** Replaces a value. `id` must be in the table. */
  replace(id: string, value: Value): void {
    const entry = this.#entryOf(id);
    if (entry !== undefined) entry.value = value;
  }

  /** Removes a value and returns it; undefined if `id` is not in the table. */
  remove(id: string): Value | undefined {
    const bucket = this.#bucketOf(id);
    let before: Entry<Value> | undefined;
    for (let entry = this.#buckets[bucket]; entry !== undefined; entry = entry.next) {
      if (entry.id === id) {
        if (before === undefined) this.#buckets[bucket] = entry.next;
        else before.next = entry.next;
        this.#size--;
        return entry.value;
      }
      before = entry;
    }
    return undefined;
  }

  /** The values, in no particular order. */
  *values(): Generator<Value> {
    for (const bucket of this.#buckets) {
      for (let entry = bucket; entry !== undefined; entry = entry.next) yield entry.value;
    }
  }

  #entryOf(id: string): Entry<Value> | undefined {
    return findIn(this.#buckets[this.#bucketOf(id)], id);
  }

  #grow(): void {
    const before = this.#buckets;
    this.#buckets = emptyBuckets(2 * before.length);
    for (const bucket of before) {
      let entry = bucket;
      while (entry !== undefined) {
        const { next } = entry;
        const place = this.#bucketOf(entry.id);
        entry.next = this.#buckets[place];
        this.#buckets[place] = entry;
        entry = next;
      }
    }
  }

  #bucketOf(id: string): number {
    let hash = 0;
    for (let at = Math.max(0, id.length - HASHED_CHARACTERS); at < id.length; at++) {
      hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
    }
    return hash & (this.#buckets.length - 1);
  }
}

function findIn<Value>(first: Entry<Value> | undefined, id: string): Entry<Value> | undefined {
  let entry = first;
  while (entry !== undefined && entry.id !== id) entry = entry.next;
  return entry;
}

function emptyBuckets(count: number): undefined[] {
  return new Array(count).fill(undefined);
}
