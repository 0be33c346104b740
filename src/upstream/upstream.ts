/** An upstream as the pipeline sees it: something that attempts requests. */
import type { ChatRequest } from '../wire/request.ts';
import type { Attempt } from './attempt.ts';

export interface Upstream {
  /** What must never reach a client: the upstream's credential and address. */
  readonly secrets: readonly string[];
  /**
   * Sends a request. `model` is the upstream's own name; `capTokens` is a maximum to write into a request that declares
   * none.
   */
  attempt(request: ChatRequest, model: string, capTokens: number | undefined): Attempt;
  /** Breaks every connection. */
  close(): Promise<void>;
}
