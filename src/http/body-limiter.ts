/** Bounds the load that one key can cause with request bodies: concurrent bodies, and large bodies without a charge. */
import { rateLimited } from '../core/errors.ts';
import type { BodyRefusal } from './body.ts';

/** A larger body is checked against the limits of its key before it is read. */
export const LARGE_BODY_BYTES = 1024 * 1024;

/** Concurrent bodies of a key per permitted concurrent request. Some requests wait for a slot. */
const BODIES_PER_SLOT = 2;
/** Minimum for keys with few slots: more than an honest client sends in a burst. */
export const MIN_BODIES_IN_READING = 100;
/** Concurrent bytes of a key, in bodies of maximum size. */
export const FULL_BODIES_IN_READING = 4;
/** Minimum of concurrent bytes, for configurations with a small maximum size. */
const MIN_BYTES_IN_READING = 16 * 1024 * 1024;

/**
 * Sustained rate at which a key may send large bodies without a charge. Parsing takes a millisecond per 50 KB at worst, so such
 * bodies take at most a tenth of a thread.
 */
export const UNPAID_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** Burst beyond that rate, in bodies of maximum size. */
export const FULL_BODIES_UNPAID = 2;

/** `Retry-After` of a refusal: slots and bytes become free at an unknown time. */
const SOON_S = 1;

/** The limits for concurrent bodies of a key. */
export interface ReadingBounds {
  /** Maximum concurrent requests of the key. */
  readonly concurrency: number;
  readonly maxBodyBytes: number;
}

interface KeyLoad {
  bodies: number;
  bytes: number;
  /** The bytes of unpaid large bodies at `atMs`. They decrease at the sustained rate. */
  unpaidBytes: number;
  atMs: number;
}

export class BodyLimiter {
  readonly #nowMs: () => number;
  /** Keys with concurrent or unpaid bodies. Bounded by the number of keys. */
  readonly #loads = new Map<string, KeyLoad>();

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Registers a body before it is read. The caller must close it. */
  open(keyId: string, bounds: ReadingBounds): BodyInReading {
    const load = this.#loadOf(keyId);
    load.bodies++;
    return new BodyInReading(load, bounds, () => {
      load.bodies--;
      this.#forgetIfUnused(keyId, load);
    });
  }

  /** Counts a body without a charge: its request was refused, or only counts tokens. */
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

/** One body while it is read. */
export class BodyInReading {
  readonly #load: KeyLoad;
  readonly #bounds: ReadingBounds;
  readonly #onClose: () => void;
  /** Declared or received length; undefined before the first call of `grow`. */
  #bytes: number | undefined;

  constructor(load: KeyLoad, bounds: ReadingBounds, onClose: () => void) {
    this.#load = load;
    this.#bounds = bounds;
    this.#onClose = onClose;
  }

  /** Updates the declared or received length. Returns the refusal if a limit is exceeded. */
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

  /** Releases the body, after it was read or refused. */
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
