/** Counts tokens with a real tokenizer, in a thread of its own that runs only while there is something to count. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CountOrder, CountResult } from './messages.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);
/** How long a request waits for its count before it is settled by the estimate. Loading the tokenizer takes 0.1 s. */
const PATIENCE_MS = 2_000;
/** The tokenizer takes 75 MB. Unused for so long, it goes. */
const IDLE_MS = 300_000;

export class TokenCounter {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #nextOrder = 1;
  /** Bounded by the requests that are being settled. */
  readonly #waiting = new Map<number, (tokens: number | undefined) => void>();

  /** Tokens of all texts together; undefined where that could not be found out in time. Never rejects. */
  count(texts: readonly string[]): Promise<number | undefined> {
    const order = this.#nextOrder++;
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const timer = setTimeout(() => this.#deliver(order, undefined), PATIENCE_MS);
    this.#waiting.set(order, (tokens) => {
      clearTimeout(timer);
      resolve(tokens);
    });
    this.#worker ??= this.#start();
    clearTimeout(this.#idle);
    this.#worker.postMessage({ order, texts } satisfies CountOrder);
    return promise;
  }

  /** Ends the thread. Whoever waits gets no count. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(THREAD);
    worker.unref();
    worker.on('message', ({ order, tokens }: CountResult) => this.#deliver(order, tokens));
    // Counting is a service: without it requests are settled by the estimate, and the next one starts it anew.
    worker.on('error', () => {});
    worker.on('exit', () => this.#forget(worker));
    return worker;
  }

  #deliver(order: number, tokens: number | undefined): void {
    this.#waiting.get(order)?.(tokens);
    this.#waiting.delete(order);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#worker?.terminate(), IDLE_MS).unref();
  }

  #forget(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
    for (const order of [...this.#waiting.keys()]) this.#deliver(order, undefined);
  }
}
