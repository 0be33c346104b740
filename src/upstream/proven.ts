/** Sends requests that need credentials, which may have to be asked for elsewhere. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { mergeSecrets, type Secrets } from '../wire/secrets.ts';
import { type Attempt, type ResponseHead, UpstreamFailure } from './attempt.ts';
import { Deadline } from './deadline.ts';
import type { HostPool, HostRequest, ResponseDecoder } from './host-pool.ts';
import type { Proofs } from './kept-proof.ts';

/** A request with what proves who sends it. */
export interface Proven {
  readonly request: HostRequest;
  readonly decoder?: ResponseDecoder;
  /** Credentials of this request alone, such as its signature. */
  readonly credentials?: readonly string[];
}

/** Nothing has been sent until the credentials are there: an attempt without them has not connected. */
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

/** What only some hosts need is loaded with the first request to one, and where that fails, with the next. */
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

/** Requests with the previous tokens may still be in flight. */
const KEPT_GENERATIONS = 2;

/** The secrets of an upstream with the tokens that its requests carry: each is a secret like a key. */
export class TokenSecrets {
  readonly #own: Secrets;
  /** The latest first; each has the tokens that one request carries. */
  #generations: readonly (readonly string[])[] = [];
  #all: Secrets;

  constructor(own: Secrets) {
    this.#own = own;
    this.#all = own;
  }

  get all(): Secrets {
    return this.#all;
  }

  /** Keeps the tokens of a request. */
  keep(tokens: readonly string[]): void {
    const isKept = this.#generations.some((kept) => tokens.every((token) => kept.includes(token)));
    if (isKept || tokens.length === 0) return;
    this.#generations = [tokens, ...this.#generations].slice(0, KEPT_GENERATIONS);
    const all = this.#generations.flat();
    this.#all = mergeSecrets([this.#own, { parts: all, words: [], credentials: all }]);
  }
}

/** With this a host says that it does not take a token. */
const REFUSES_TOKEN = 401;

/** The tokens that requests to a host carry in place of a key. */
export class Tokens {
  readonly #secrets: TokenSecrets;
  readonly #proofs: () => Promise<Proofs>;

  /** `own`: the secrets of the host. `load`: what finds the tokens. */
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

/** What a host answers that has no such thing. */
export function answerNotFound(attempt: Attempt): Attempt {
  attempt.receiveHead({ status: 404, contentType: 'application/json', isEncoded: false, retryAfter: undefined });
  attempt.end();
  return attempt;
}

const NO_CREDENTIALS = 'no credentials for the provider';
const NOT_LOADED = 'a file of the program cannot be loaded; after an upgrade, restart the gateway';
