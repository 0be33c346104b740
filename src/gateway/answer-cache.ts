/** A worker's client of the answer-cache thread, which starts with the first call. Never fails. */

import type { AnswerPlace, CachedAnswer, CacheTerms, Saving } from '../core/cached-answers.ts';
import { Repeats } from '../core/repeats.ts';
import { within } from '../core/within.ts';
import type { Log } from '../observe/log.ts';
import type { AnswerCache } from '../proxy/cache.ts';
import type { CacheCalls } from './cache-thread.ts';
import { ThreadOnDemand } from './thread-on-demand.ts';

/** Time limit of a lookup, after which the request is sent to its host, in milliseconds. */
const FIND_MS = 5_000;
/** Maximum size of queued writes, in bytes. If the disk is too slow, further answers are not cached. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Interval of reports about failures, in milliseconds. */
const REPORT_MS = 60_000;

export class ThreadCache implements AnswerCache {
  readonly #thread: ThreadOnDemand<CacheCalls>;
  readonly #log: Log;
  readonly #open = new Set<Promise<void>>();
  #lastError = '';
  readonly #failures = new Repeats<'failed'>(REPORT_MS, (count) =>
    this.#log.warn(`the cache of answers failed ${count} times in a minute: ${this.#lastError}`),
  );
  #waitingBytes = 0;
  /** Whether a lookup has timed out and is still running. Until it returns, all requests skip the cache. */
  #isLate = false;

  constructor(path: string, log: Log) {
    this.#thread = new ThreadOnDemand('gateway/cache-thread', 'the thread of cached answers', path);
    this.#log = log;
  }

  async find(place: AnswerPlace, ttlMs: number): Promise<CachedAnswer | undefined> {
    if (this.#isLate) return undefined;
    try {
      const found = this.#thread.port.call('find', place, ttlMs).finally(() => {
        this.#isLate = false;
      });
      return await within(FIND_MS, found, () => {
        this.#isLate = true;
        throw new Error(`a look-up took more than ${FIND_MS / 1_000} s`);
      });
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  add(place: AnswerPlace, answer: CachedAnswer, terms: CacheTerms): void {
    const bytes = answer.body.length + (answer.end?.length ?? 0);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) return this.#fail(new Error('the disk is too slow'));
    this.#waitingBytes += bytes;
    this.#later(async () => {
      try {
        await this.#thread.port.call('add', place, answer, terms);
      } finally {
        this.#waitingBytes -= bytes;
      }
    });
  }

  countSaving(saving: Saving): void {
    this.#later(() => this.#thread.port.call('countSaving', saving));
  }

  /** Finishes the queued writes. */
  async close(): Promise<void> {
    this.#thread.ref();
    await Promise.all(this.#open);
    await this.#thread.close();
  }

  /** Writes in the background, so that responses do not wait. */
  #later(write: () => Promise<void>): void {
    const writing = write().catch((error: unknown) => this.#fail(error));
    this.#open.add(writing);
    void writing.then(() => this.#open.delete(writing));
  }

  #fail(error: unknown): void {
    this.#lastError = error instanceof Error ? error.message : String(error);
    this.#failures.count('failed');
  }
}
