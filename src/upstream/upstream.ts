/** The interface of an upstream: an endpoint that attempts requests. */
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Secrets } from '../wire/secrets.ts';
import type { Attempt } from './attempt.ts';

/** A request to send. */
export interface UpstreamCall {
  /** In a dialect that the upstream supports. */
  readonly request: ModelRequest;
  /** The upstream's own name of the model. */
  readonly model: string;
  /** Maximum of output tokens to write into a request that declares none. */
  readonly capTokens: number | undefined;
  /** Whether the gateway translated it from another dialect. */
  readonly isTranslated: boolean;
  /** Headers of the dialect, from the client. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Upstream {
  readonly secrets: Secrets;
  attempt(call: UpstreamCall): Attempt;
  /** Sends a request without a body. `path`: below the base URL. */
  ask(method: 'GET' | 'DELETE', path: string): Attempt;
  /** Closes every connection at once. */
  close(): Promise<void>;
}
