/** Counts tokens with a real tokenizer, in a thread that runs only while texts are queued and for a while afterwards. */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../core/threads.ts';
import { Tickets } from '../core/tickets.ts';
import type { CountOrder, CountResult } from './thread.ts';

/**
 * Default time that a request waits for its count before it settles by the estimate. Shorter than the second after which a client
 * that hit its own concurrency limit may retry. Loading the tokenizer takes 0.1 s.
 */
const COUNT_MS = 800;
/**
 * A queue with more characters (0.6 s of the slowest text) accepts no further counts, so that one sender cannot delay the others.
 */
const MAX_QUEUED_CHARACTERS = 256 * 1024;
/** Idle time after which the thread ends. The loaded tokenizer takes 75 MB, and twice as much after long unbroken texts. */
const IDLE_MS = 300_000;

/**
 * The purpose of a count. `charge` has priority, since a settlement waits for it. `cut` is for a stream whose money is used up;
 * it has no timeout here, because the stream bounds its own wait. `courtesy` is for token-count requests.
 */
export type Purpose = 'charge' | 'cut' | 'courtesy';

interface Queued extends CountOrder {
  readonly characters: number;
}

/** Pending counts, in order. Bounded by the requests in flight. */
interface Queue {
  readonly orders: Queued[];
  characters: number;
}

export class TokenCounter {
  readonly #countMs: number;
  readonly #tickets = new Tickets<number | undefined>();
  /** In order of priority. Each purpose has its own length limit. */
  readonly #queues: Readonly<Record<Purpose, Queue>> = {
    charge: { orders: [], characters: 0 },
    cut: { orders: [], characters: 0 },
    courtesy: { orders: [], characters: 0 },
  };
  #thread: Worker | undefined;
  /** True while the thread is counting, even if the request has stopped waiting for the result. */
  #isBusy = false;
  #isLoaded = false;
  #closed = false;
  #idleTimer: NodeJS.Timeout | undefined;

  /** `countMs`: time limit of a count, in milliseconds. */
  constructor(countMs = COUNT_MS) {
    this.#countMs = countMs;
  }

  /** Whether the tokenizer is loaded. The first count takes much longer. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /**
   * Returns the sum of the tokens of all texts, each multiplied by its factor; undefined if the count was late or refused. Never
   * rejects.
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

  /** Sends one order at a time: the thread never counts an order after its timeout. */
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
    // Requests settle by the estimate while the thread is down; the next count restarts it.
    thread.on('error', () => {});
    thread.on('exit', () => this.#onExit(thread));
    // Must come last: adding a message listener refs the thread again.
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
