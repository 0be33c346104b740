/**
 * Bounds what one key can cost the others with its request bodies: those it may have in reading at a
 * time, and the large ones that it does not pay for.
 */
import { rateLimited } from '../core/errors.ts';
import type { BodyRefusal } from './body.ts';

/** A larger body is judged by the limits of its key before it is read. */
export const LARGE_BODY_BYTES = 1024 * 1024;

/** How many bodies a key may have in reading, per concurrent request that it may have; some requests wait for a slot. */
const BODIES_PER_SLOT = 2;
/** For keys with few slots: more than any burst of honest clients has in reading at a time. */
export const MIN_BODIES_IN_READING = 100;
/** How many bodies of the maximum size a key may have in reading at a time, by their bytes. */
export const FULL_BODIES_IN_READING = 4;
/** Where the maximum size is small: bytes that a key may have in reading all the same. */
const MIN_BYTES_IN_READING = 16 * 1024 * 1024;

/**
 * How many bytes of large bodies that are refused, or whose tokens are only counted, a key may send
 * per second, in the long run. Parsing takes a millisecond per 50 KB at worst, so such bodies take a
 * tenth of a thread at most.
 */
export const UNPAID_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** How many of the maximum size it may send beyond that before it has to wait. */
export const FULL_BODIES_UNPAID = 2;

/** Slots and bytes become free when a body has been read, and nobody knows when. */
const SOON_S = 1;

/** What a key may have in reading. */
export interface ReadingBounds {
  /** The most concurrent requests of the key. */
  readonly concurrency: number;
  readonly maxBodyBytes: number;
}

interface KeyLoad {
  bodies: number;
  bytes: number;
  /** The bytes of unpaid large bodies that have not been forgiven yet, at `atMs`. */
  unpaidBytes: number;
  atMs: number;
}

export class BodyLimiter {
  readonly #nowMs: () => number;
  /** Keys with bodies in reading, or with unpaid ones. Bounded by the number of keys. */
  readonly #loads = new Map<string, KeyLoad>();

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** A body of a key is about to be read. To be closed once it was. */
  open(keyId: string, bounds: ReadingBounds): BodyInReading {
    const load = this.#loadOf(keyId);
    load.bodies++;
    return new BodyInReading(load, bounds, () => {
      load.bodies--;
      this.#forgetIfUnused(keyId, load);
    });
  }

  /** A body was read whose request costs nothing: it is refused, or only asks for a count. */
  countUnpaid(keyId: string, bytes: number): void {
    if (bytes > LARGE_BODY_BYTES) this.#loadOf(keyId).unpaidBytes += bytes;
  }

  #loadOf(keyId: string): KeyLoad {
    const nowMs = this.#nowMs();
    const load = this.#loads.get(keyId) ?? { bodies: 0, bytes: 0, unpaidBytes: 0, atMs: nowMs };
    forgive(load, nowMs);
    this.#loads.set(keyId, load);
    return load;
  }

  #forgetIfUnused(keyId: string, load: KeyLoad): void {
    forgive(load, this.#nowMs());
    if (load.bodies === 0 && load.unpaidBytes === 0) this.#loads.delete(keyId);
  }
}

function forgive(load: KeyLoad, nowMs: number): void {
  const forgivenBytes = ((nowMs - load.atMs) / 1000) * UNPAID_BYTES_PER_SECOND;
  load.unpaidBytes = Math.max(0, load.unpaidBytes - forgivenBytes);
  load.atMs = nowMs;
}

/** One body in reading. */
export class BodyInReading {
  readonly #load: KeyLoad;
  readonly #bounds: ReadingBounds;
  readonly #onClose: () => void;
  /** As declared or received; undefined until the first call of `grow`. */
  #bytes: number | undefined;

  constructor(load: KeyLoad, bounds: ReadingBounds, onClose: () => void) {
    this.#load = load;
    this.#bounds = bounds;
    this.#onClose = onClose;
  }

  /** The body has at least so many bytes, as declared or received. Returns why it may not be read. */
  grow(bytes: number): BodyRefusal | undefined {
    const before = this.#bytes;
    if (before !== undefined && bytes <= before) return undefined;
    this.#bytes = bytes;
    this.#load.bytes += bytes - (before ?? 0);
    return this.#refusedBefore(before ?? 0, bytes) ?? this.#beyondBounds(before === undefined);
  }

  #refusedBefore(before: number, bytes: number): BodyRefusal | undefined {
    const excessBytes = this.#load.unpaidBytes - this.#bounds.maxBodyBytes * FULL_BODIES_UNPAID;
    if (excessBytes <= 0 || bytes <= LARGE_BODY_BYTES || before > LARGE_BODY_BYTES) return undefined;
    const retryAfterS = Math.ceil(excessBytes / UNPAID_BYTES_PER_SECOND);
    const message = 'Too many large requests of this key were refused, or only counted, in the last seconds.';
    return { error: rateLimited(message, retryAfterS), reason: 'refused_bodies' };
  }

  #beyondBounds(isFirst: boolean): BodyRefusal | undefined {
    const { concurrency, maxBodyBytes } = this.#bounds;
    if (isFirst && this.#load.bodies > Math.max(MIN_BODIES_IN_READING, concurrency * BODIES_PER_SLOT))
      return TOO_MANY_BODIES;
    const maxBytes = Math.max(MIN_BYTES_IN_READING, maxBodyBytes * FULL_BODIES_IN_READING);
    return this.#load.bytes > maxBytes ? TOO_MANY_BYTES : undefined;
  }

  /** The body was read, or will not be. */
  close(): void {
    this.#load.bytes -= this.#bytes ?? 0;
    this.#onClose();
  }
}

const TOO_MANY_BODIES: BodyRefusal = {
  error: rateLimited('This key is sending too many request bodies at a time.', SOON_S),
  reason: 'bodies_in_reading',
};
const TOO_MANY_BYTES: BodyRefusal = {
  error: rateLimited('The request bodies that this key is sending are too large together.', SOON_S),
  reason: 'bodies_in_reading',
};
