/** Counts tokens with a real tokenizer, in a thread of its own that runs only while there is something to count. */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CountOrder, CountResult } from './thread.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);
/**
 * How long a request waits for its count before it is settled by the estimate, unless the constructor is given another
 * time: less than the second after which a client that met its own slot may come again. Loading the tokenizer takes 0.1 s.
 */
const PATIENCE_MS = 800;
/** Beyond so many characters in the queue, 0.6 s of the worst text, nobody joins it: others are not to wait for one sender. */
const MAX_QUEUED_CHARACTERS = 256 * 1024;
/** The tokenizer takes 75 MB once loaded, twice as much after long unbroken texts. Unused for so long, it goes. */
const IDLE_MS = 300_000;

interface Order extends CountOrder {
  readonly characters: number;
  deliver(tokens: number | undefined): void;
}

export class TokenCounter {
  readonly #patienceMs: number;
  #worker: Worker | undefined;
  #closed = false;
  #idle: NodeJS.Timeout | undefined;
  #nextOrder = 1;
  /** Those that somebody waits for, in order. Bounded by the requests that are being settled. */
  readonly #orders: Order[] = [];
  #queuedCharacters = 0;
  /** True while the thread has an order, whether or not somebody still waits for it. */
  #isBusy = false;

  /** `patienceMs`: how long a count is waited for, in milliseconds. */
  constructor(patienceMs = PATIENCE_MS) {
    this.#patienceMs = patienceMs;
  }

  /** Tokens of all texts together; undefined where that could not be found out in time. Never rejects. */
  count(texts: readonly string[]): Promise<number | undefined> {
    if (this.#closed || this.#queuedCharacters > MAX_QUEUED_CHARACTERS) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const order = this.#nextOrder++;
    const timer = setTimeout(() => this.#deliver(order, undefined), this.#patienceMs);
    const deliver = (tokens: number | undefined) => {
      clearTimeout(timer);
      resolve(tokens);
    };
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    this.#queuedCharacters += characters;
    this.#orders.push({ order, texts, characters, deliver });
    if (!this.#isBusy) this.#sendFirst();
    return promise;
  }

  /** Ends the thread. Whoever waits gets no count. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  /** One at a time: what nobody waits for any more is not worked on. */
  #sendFirst(): void {
    clearTimeout(this.#idle);
    const [first] = this.#orders;
    if (first === undefined) {
      this.#idle = setTimeout(() => void this.#worker?.terminate(), IDLE_MS).unref();
      return;
    }
    this.#isBusy = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ order: first.order, texts: first.texts } satisfies CountOrder);
  }

  #start(): Worker {
    const worker = new Worker(THREAD);
    worker.on('message', ({ order, tokens }: CountResult) => this.#answer(order, tokens));
    // Counting is a service: without it requests are settled by the estimate, and the next one starts it anew.
    worker.on('error', () => {});
    worker.on('exit', () => this.#forget(worker));
    // Last of all: to listen for messages takes hold of the process again.
    worker.unref();
    return worker;
  }

  #answer(order: number, tokens: number): void {
    this.#isBusy = false;
    this.#deliver(order, tokens);
    this.#sendFirst();
  }

  #deliver(order: number, tokens: number | undefined): void {
    const index = this.#orders.findIndex((each) => each.order === order);
    const [found] = index < 0 ? [] : this.#orders.splice(index, 1);
    if (found === undefined) return;
    this.#queuedCharacters -= found.characters;
    found.deliver(tokens);
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isBusy = false;
    this.#queuedCharacters = 0;
    for (const { deliver } of this.#orders.splice(0)) deliver(undefined);
  }
}
