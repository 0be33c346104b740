/** Sends requests that need credentials, which may have to be asked for elsewhere. */
import type { UpstreamTimeouts } from '../core/settings.ts';
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

/** What a host answers that has no such thing. */
export function answerNotFound(attempt: Attempt): Attempt {
  attempt.receiveHead({ status: 404, contentType: 'application/json', isEncoded: false, retryAfter: undefined });
  attempt.end();
  return attempt;
}

const NO_CREDENTIALS = 'no credentials for the provider';
