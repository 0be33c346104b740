/** The cached answers, for one worker: asks a thread that is started when the first request needs it. Never fails. */

import type { AnswerPlace, CachedAnswer, CacheTerms, Saving } from '../core/cached-answers.ts';
import { Repeats } from '../core/repeats.ts';
import { within } from '../core/within.ts';
import type { Log } from '../observe/log.ts';
import type { AnswerCache } from '../proxy/cache.ts';
import type { CacheCalls } from './cache-thread.ts';
import { ThreadOnDemand } from './thread-on-demand.ts';

/** How long a request waits for its look-up before it goes to its host, in milliseconds. */
const FIND_MS = 5_000;
/** What may wait to be written, in bytes. Where the disk is slower than the hosts, the rest is not kept. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** How often failures are reported, in milliseconds. */
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
  /** A look-up came too late, and is not back yet: until then no request waits for another one. */
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

  /** Writes what is still to be written. */
  async close(): Promise<void> {
    this.#thread.ref();
    await Promise.all(this.#open);
    await this.#thread.close();
  }

  /** Answers wait for none of it. */
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
