/** A worker's client of the thread for response ownership and child keys. The thread starts with the first call. */
import type { KeptId, KeptResponse } from '../core/kept-responses.ts';
import type { Limits } from '../core/limits.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { ChildKeys } from '../proxy/child-keys.ts';
import type { Keeper } from '../proxy/kept.ts';
import type { KeptCalls } from './kept-thread.ts';
import { ThreadOnDemand } from './thread-on-demand.ts';

export class ThreadKeeper implements Keeper {
  readonly #thread: ThreadOnDemand<KeptCalls>;

  constructor(state: StateLocation) {
    this.#thread = new ThreadOnDemand('gateway/kept-thread', 'the thread of kept responses', state);
  }

  find(keyId: string, ids: readonly string[]): Promise<readonly KeptId[]> {
    return this.#thread.port.call('find', keyId, ids);
  }

  add(response: KeptResponse): Promise<void> {
    return this.#thread.port.call('add', response);
  }

  drop(keyId: string, responseId: string): Promise<void> {
    return this.#thread.port.call('drop', keyId, responseId);
  }

  /** Unset limits of a key default to `tier`. */
  childrenIn(tier: Limits): ChildKeys {
    return {
      check: (parentId, question) => this.#thread.port.call('checkChild', parentId, question, tier),
      answer: (parentId, question) => this.#thread.port.call('answerChild', parentId, question, tier),
    };
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
