/** The interface of an upstream: something that attempts requests. */
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Secrets } from '../wire/secrets.ts';
import type { Attempt } from './attempt.ts';

/** A request as it is sent. */
export interface UpstreamCall {
  /** In a dialect that the upstream speaks. */
  readonly request: ModelRequest;
  /** The upstream's own name of the model. */
  readonly model: string;
  /** A maximum of output tokens, to be written into a request that declares none. */
  readonly capTokens: number | undefined;
  /** Whether the gateway has made it from a request in another dialect. */
  readonly isTranslated: boolean;
  /** Headers of the dialect, from the client. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Upstream {
  readonly secrets: Secrets;
  attempt(call: UpstreamCall): Attempt;
  /** A request without a body. `path`: below the base URL. */
  ask(method: 'GET' | 'DELETE', path: string): Attempt;
  /** Closes every connection at once. */
  close(): Promise<void>;
}
