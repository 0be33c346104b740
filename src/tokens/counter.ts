/** Counts tokens with a real tokenizer, in a thread that runs only while there is something to count. */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../core/threads.ts';
import { Tickets } from '../core/tickets.ts';
import type { CountOrder, CountResult } from './thread.ts';

/**
 * How long a request waits for its count before it settles by the estimate, unless the constructor is given another time.
 * It is less than the second after which a client that met its own slot may retry. Loading the tokenizer takes 0.1 s.
 */
const COUNT_MS = 800;
/** With more characters in the queue (0.6 s of the worst text) nothing joins it: one sender must not delay the others. */
const MAX_QUEUED_CHARACTERS = 256 * 1024;
/** The tokenizer takes 75 MB once loaded, twice that after long unbroken texts. The thread ends after so long unused. */
const IDLE_MS = 300_000;

/**
 * The purpose of a count. Settlements wait for counts of a charge, so these go first. A count for a cut is that of a stream
 * whose money is used up: it is awaited for as long as the stream waits.
 */
export type Purpose = 'charge' | 'cut' | 'courtesy';

interface Queued extends CountOrder {
  readonly characters: number;
}

/** Counts that are still awaited, in order. Bounded by the requests in flight. */
interface Queue {
  readonly orders: Queued[];
  characters: number;
}

export class TokenCounter {
  readonly #countMs: number;
  readonly #tickets = new Tickets<number | undefined>();
  /** In the order of their purposes. The length of one keeps nothing out of another. */
  readonly #queues: Readonly<Record<Purpose, Queue>> = {
    charge: { orders: [], characters: 0 },
    cut: { orders: [], characters: 0 },
    courtesy: { orders: [], characters: 0 },
  };
  #thread: Worker | undefined;
  /** True while the thread is counting, even if nobody awaits the result any more. */
  #isBusy = false;
  #isLoaded = false;
  #closed = false;
  #idleTimer: NodeJS.Timeout | undefined;

  /** `countMs`: how long a count may take, in milliseconds. */
  constructor(countMs = COUNT_MS) {
    this.#countMs = countMs;
  }

  /** Whether the tokenizer is loaded: until then a count takes much longer. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /**
   * The tokens of all texts together, each times its factor if it has one; undefined if they were
   * not counted in time. Never rejects.
   */
  async count(
    texts: readonly string[],
    factors: readonly number[] = [],
    purpose: Purpose = 'charge',
  ): Promise<number | undefined> {
    const queue = this.#queues[purpose];
    if (this.#closed || queue.characters > MAX_QUEUED_CHARACTERS) return undefined;
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    const { ticket, reply } = this.#tickets.take();
    const timer = purpose === 'cut' ? undefined : setTimeout(() => this.#settle(ticket, undefined), this.#countMs);
    queue.orders.push({ order: ticket, texts, factors, characters });
    queue.characters += characters;
    if (!this.#isBusy) this.#sendNext();
    const tokens = await reply;
    clearTimeout(timer);
    return tokens;
  }

  /** Ends the thread. Pending counts resolve to undefined. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    await this.#thread?.terminate();
  }

  /** One order at a time, so that the thread never works on one that is no longer awaited. */
  #sendNext(): void {
    clearTimeout(this.#idleTimer);
    const next = Object.values(this.#queues).find(({ orders }) => orders.length > 0)?.orders[0];
    if (next === undefined) {
      this.#idleTimer = setTimeout(() => void this.#thread?.terminate(), IDLE_MS).unref();
      return;
    }
    this.#isBusy = true;
    this.#thread ??= this.#startThread();
    const { order, texts, factors } = next;
    this.#thread.postMessage({ order, texts, factors } satisfies CountOrder);
  }

  #startThread(): Worker {
    const thread = startThread('tokens/thread');
    thread.on('message', ({ order, tokens }: CountResult) => {
      this.#isBusy = false;
      this.#isLoaded = true;
      this.#settle(order, tokens);
      this.#sendNext();
    });
    // Without the thread requests settle by the estimate, and the next count starts it again.
    thread.on('error', () => {});
    thread.on('exit', () => this.#onExit(thread));
    // Last, since listening for messages refs the thread again.
    thread.unref();
    return thread;
  }

  #settle(order: number, tokens: number | undefined): void {
    for (const queue of Object.values(this.#queues)) {
      const index = queue.orders.findIndex((each) => each.order === order);
      const [found] = index < 0 ? [] : queue.orders.splice(index, 1);
      queue.characters -= found?.characters ?? 0;
    }
    this.#tickets.resolve(order, tokens);
  }

  #onExit(thread: Worker): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#isBusy = false;
    this.#isLoaded = false;
    const orders = Object.values(this.#queues).flatMap((queue) => queue.orders);
    for (const { order } of orders) this.#settle(order, undefined);
  }
}
