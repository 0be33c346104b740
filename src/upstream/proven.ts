/** Sends requests whose credentials may first have to be fetched. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { mergeSecrets, type Secrets } from '../wire/secrets.ts';
import { type Attempt, type ResponseHead, UpstreamFailure } from './attempt.ts';
import { Deadline } from './deadline.ts';
import type { HostPool, HostRequest, ResponseDecoder } from './host-pool.ts';
import type { Proofs } from './kept-proof.ts';

/** An authenticated request. */
export interface Proven {
  readonly request: HostRequest;
  readonly decoder?: ResponseDecoder;
  /** Credentials of this request alone, such as its signature. */
  readonly credentials?: readonly string[];
}

/** Sends a request once its credentials are available. Until then, a failed attempt counts as unconnected. */
export async function sendProven(
  attempt: Attempt,
  pool: HostPool,
  { connectMs: milliseconds }: UpstreamTimeouts,
  prove: () => Promise<Proven>,
): Promise<void> {
  const fail = (why: string) =>
    attempt.fail(new UpstreamFailure('not_connected', `${NO_CREDENTIALS}: ${why}`, NO_CREDENTIALS));
  const deadline = new Deadline(() => fail(`not within ${milliseconds} ms`));
  deadline.set({ kind: 'not_connected', missing: NO_CREDENTIALS, milliseconds });
  try {
    const { request, decoder, credentials = [] } = await prove();
    attempt.credentials = credentials;
    pool.send(attempt, request, decoder);
  } catch (error) {
    if (error instanceof UpstreamFailure) attempt.fail(error);
    else fail(String(error));
  } finally {
    deadline.clear();
  }
}

/** Loads a module with the first request that needs it, and retries with the next request if that fails. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw new UpstreamFailure('not_loaded', `${NOT_LOADED}: ${error}`, NOT_LOADED);
    });
    return loaded;
  };
}

/** Number of token generations retained as secrets: requests with the previous tokens may still be in flight. */
const KEPT_GENERATIONS = 2;

/** The secrets of an upstream, including the tokens of its requests. */
export class TokenSecrets {
  readonly #own: Secrets;
  /** The latest first; each contains the tokens of one request. */
  #generations: readonly (readonly string[])[] = [];
  #all: Secrets;

  constructor(own: Secrets) {
    this.#own = own;
    this.#all = own;
  }

  get all(): Secrets {
    return this.#all;
  }

  /** Retains the tokens of a request. */
  keep(tokens: readonly string[]): void {
    const isKept = this.#generations.some((kept) => tokens.every((token) => kept.includes(token)));
    if (isKept || tokens.length === 0) return;
    this.#generations = [tokens, ...this.#generations].slice(0, KEPT_GENERATIONS);
    const all = this.#generations.flat();
    this.#all = mergeSecrets([this.#own, { parts: all, words: [], credentials: all }]);
  }
}

/** The status of a refused token. */
const REFUSES_TOKEN = 401;

/** Tokens that requests to a host carry instead of an API key. */
export class Tokens {
  readonly #secrets: TokenSecrets;
  readonly #proofs: () => Promise<Proofs>;

  /** `own`: the secrets of the host. `load`: loads the token provider. */
  constructor(own: Secrets, load: () => Promise<Proofs>) {
    this.#secrets = new TokenSecrets(own);
    this.#proofs = loadedOnce(load);
  }

  get secrets(): Secrets {
    return this.#secrets.all;
  }

  /** Sends a request with a token, and feeds the attempt with its response. */
  send(attempt: Attempt, pool: HostPool, timeouts: UpstreamTimeouts, request: HostRequest): Promise<void> {
    return sendProven(attempt, pool, timeouts, async () => {
      const proofs = await this.#proofs();
      const headers = await proofs.headers();
      if (headers.authorization !== undefined) this.#secrets.keep([headers.authorization.replace(/^Bearer /, '')]);
      const watch = ({ status }: ResponseHead) => status === REFUSES_TOKEN && proofs.refused(headers);
      attempt.head().then(watch, () => {});
      return { request: { ...request, headers: { ...request.headers, ...headers } } };
    });
  }
}

/** Answers like a host without the requested object. */
export function answerNotFound(attempt: Attempt): Attempt {
  attempt.receiveHead({ status: 404, contentType: 'application/json', isEncoded: false, retryAfter: undefined });
  attempt.end();
  return attempt;
}

const NO_CREDENTIALS = 'no credentials for the provider';
const NOT_LOADED = 'a file of the program cannot be loaded; after an upgrade, restart the gateway';
