/** The interface of an upstream: something that attempts requests. */
import type { ChatRequest } from '../wire/request.ts';
import type { Secrets } from '../wire/secrets.ts';
import type { Attempt } from './attempt.ts';

export interface Upstream {
  readonly secrets: Secrets;
  /**
   * Sends a request. `model`: the upstream's own name of it. `capTokens`: a maximum of output
   * tokens to write into a request that declares none.
   */
  attempt(request: ChatRequest, model: string, capTokens: number | undefined): Attempt;
  /** Closes every connection at once. */
  close(): Promise<void>;
}
