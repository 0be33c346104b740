/** Sends requests that need credentials, which may have to be asked for elsewhere. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { mergeSecrets, type Secrets } from '../wire/secrets.ts';
import { type Attempt, UpstreamFailure } from './attempt.ts';
import { Deadline } from './deadline.ts';
import type { HostPool, HostRequest, ResponseDecoder } from './host-pool.ts';

/** A request with what proves who sends it. */
export interface Proven {
  readonly request: HostRequest;
  readonly decoder?: ResponseDecoder;
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
    const { request, decoder } = await prove();
    pool.send(attempt, request, decoder);
  } catch (error) {
    fail(String(error));
  } finally {
    deadline.clear();
  }
}

/** Requests with the token before may still be on their way. */
const KEPT_TOKENS = 2;

/** The secrets of an upstream with the tokens that its requests carry: each is a secret like a key. */
export class TokenSecrets {
  readonly #own: Secrets;
  #tokens: readonly string[] = [];
  #all: Secrets;

  constructor(own: Secrets) {
    this.#own = own;
    this.#all = own;
  }

  get all(): Secrets {
    return this.#all;
  }

  keep(token: string | undefined): void {
    if (token === undefined || this.#tokens.includes(token)) return;
    this.#tokens = [token, ...this.#tokens].slice(0, KEPT_TOKENS);
    this.#all = mergeSecrets([this.#own, { parts: this.#tokens, words: [], credentials: this.#tokens }]);
  }
}

/** What a host answers that has no such thing. */
export function answerNotFound(attempt: Attempt): Attempt {
  attempt.receiveHead({ status: 404, contentType: 'application/json', isEncoded: false, retryAfter: undefined });
  attempt.end();
  return attempt;
}

const NO_CREDENTIALS = 'no credentials for the provider';
