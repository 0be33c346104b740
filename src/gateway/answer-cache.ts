/** The cached answers, for one worker: asks a thread that is started when the first request needs it. Never fails. */
import type { Worker } from 'node:worker_threads';
import type { AnswerPlace, CachedAnswer, CacheTerms, Saving } from '../core/cached-answers.ts';
import { Port } from '../core/port.ts';
import { Repeats } from '../core/repeats.ts';
import { startThread } from '../core/threads.ts';
import type { Log } from '../observe/log.ts';
import type { AnswerCache } from '../proxy/cache.ts';
import type { CacheCalls } from './cache-thread.ts';

interface Running {
  readonly thread: Worker;
  readonly port: Port<object, CacheCalls>;
}

/** How long a request waits for its look-up before it goes to its host, in milliseconds. */
const FIND_MS = 5_000;
/** How often failures are reported, in milliseconds. */
const REPORT_MS = 60_000;

export class ThreadCache implements AnswerCache {
  readonly #path: string;
  readonly #log: Log;
  readonly #open = new Set<Promise<void>>();
  #lastError = '';
  readonly #failures = new Repeats<'failed'>(REPORT_MS, (count) =>
    this.#log.warn(`the cache of answers failed ${count} times in a minute: ${this.#lastError}`),
  );
  #running: Running | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  async find(place: AnswerPlace, ttlMs: number): Promise<CachedAnswer | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), FIND_MS);
    });
    try {
      return await Promise.race([this.#port.call('find', place, ttlMs), late]);
    } catch (error) {
      this.#fail(error);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  add(place: AnswerPlace, answer: CachedAnswer, terms: CacheTerms): void {
    this.#later(() => this.#port.call('add', place, answer, terms));
  }

  countSaving(saving: Saving): void {
    this.#later(() => this.#port.call('countSaving', saving));
  }

  /** Writes what is still to be written. */
  async close(): Promise<void> {
    this.#running?.thread.ref();
    await Promise.all(this.#open);
    await this.#running?.thread.terminate();
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

  get #port(): Port<object, CacheCalls> {
    this.#running ??= this.#start();
    return this.#running.port;
  }

  #start(): Running {
    const thread = startThread('gateway/cache-thread', { workerData: this.#path });
    const port = new Port<object, CacheCalls>(thread, 'the thread of cached answers').serve({});
    thread.on('exit', () => {
      if (this.#running?.thread === thread) this.#running = undefined;
    });
    // Last, since listening for messages refs the thread again.
    thread.unref();
    return { thread, port };
  }
}
