/**
 * Which responses hosts keep for whom, and which keys keys have made, for one worker: asks a thread that is started when the
 * first request needs it.
 */
import type { Worker } from 'node:worker_threads';
import type { KeptId, KeptResponse } from '../core/kept-responses.ts';
import type { Limits } from '../core/limits.ts';
import { Port } from '../core/port.ts';
import type { StateLocation } from '../core/state-location.ts';
import { startThread } from '../core/threads.ts';
import type { ChildKeys } from '../proxy/child-keys.ts';
import type { Keeper } from '../proxy/kept.ts';
import type { KeptCalls } from './kept-thread.ts';

interface Running {
  readonly thread: Worker;
  readonly port: Port<object, KeptCalls>;
}

export class ThreadKeeper implements Keeper {
  readonly #state: StateLocation;
  #running: Running | undefined;

  constructor(state: StateLocation) {
    this.#state = state;
  }

  find(keyId: string, ids: readonly string[]): Promise<readonly KeptId[]> {
    return this.#port.call('find', keyId, ids);
  }

  add(response: KeptResponse): Promise<void> {
    return this.#port.call('add', response);
  }

  drop(keyId: string, responseId: string): Promise<void> {
    return this.#port.call('drop', keyId, responseId);
  }

  /** What is not set of a key is that of the tier. */
  childrenIn(tier: Limits): ChildKeys {
    return {
      check: (parentId, question) => this.#port.call('checkChild', parentId, question, tier),
      answer: (parentId, question) => this.#port.call('answerChild', parentId, question, tier),
    };
  }

  async close(): Promise<void> {
    await this.#running?.thread.terminate();
  }

  get #port(): Port<object, KeptCalls> {
    this.#running ??= this.#start();
    return this.#running.port;
  }

  #start(): Running {
    const thread = startThread('gateway/kept-thread', { workerData: this.#state });
    const port = new Port<object, KeptCalls>(thread, 'the thread of kept responses').serve({});
    thread.on('exit', () => {
      if (this.#running?.thread === thread) this.#running = undefined;
    });
    // Last, since listening for messages refs the thread again.
    thread.unref();
    return { thread, port };
  }
}
