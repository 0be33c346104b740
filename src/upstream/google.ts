/**
 * Google's application default credentials, as its own package finds them. To be imported when the first request needs it,
 * since that is large.
 */
import { setTimeout } from 'node:timers/promises';
import { type AuthClient, GoogleAuth, gcpMetadata } from 'google-auth-library';

/** Returns the headers that prove who sends a request. Rejects where there are no credentials. */
export type Authorize = () => Promise<Record<string, string>>;

interface Proof {
  readonly headers: Record<string, string>;
  readonly expiresMs: number;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** From when on the next token is asked for, before the last one expires: as the package has it. */
const AHEAD_MS = 5 * 60_000;
/** How long requests wait for the next token while the last one is good. */
const PATIENCE_MS = 1_000;
/** How long a request for a token may stay without an answer before there is another one. */
const GIVEN_UP_MS = 10_000;

/** A request for a token that is on its way. */
interface Asked {
  readonly sinceMs: number;
  readonly proof: Promise<Proof>;
}

/** `project`: whose models are asked for. Requests that come at once ask for one token together. */
export function authorizer(project: string): Authorize {
  let client: AuthClient | undefined;
  let last: Proof | undefined;
  let asked: Asked | undefined;
  const find = async () => {
    try {
      client ??= await findClient(project);
      last = await proofOf(client);
      return last;
    } catch (error) {
      client = undefined;
      throw error;
    } finally {
      asked = undefined;
    }
  };
  const ask = (nowMs: number) => {
    if (asked === undefined || nowMs - asked.sinceMs > GIVEN_UP_MS) asked = { sinceMs: nowMs, proof: find() };
    return asked;
  };
  return async () => {
    if (last !== undefined && Date.now() < last.expiresMs - AHEAD_MS) return last.headers;
    const nowMs = performance.now();
    const { sinceMs, proof } = ask(nowMs);
    if (last === undefined || Date.now() >= last.expiresMs) return (await proof).headers;
    const { headers } = last;
    const patience = setTimeout(Math.max(0, sinceMs + PATIENCE_MS - nowMs), headers, { ref: false });
    return Promise.race([proof.then((next) => next.headers).catch(() => headers), patience]);
  };
}

function findClient(projectId: string): Promise<AuthClient> {
  // The package would remember that no metadata server answered, such as before the network was up.
  gcpMetadata.resetIsAvailableCache();
  // Without a project it would ask several places for one.
  return new GoogleAuth({ scopes: SCOPE, projectId }).getClient();
}

/** The package keeps a token, and asks for the next one when that is about to expire. */
async function proofOf(client: AuthClient): Promise<Proof> {
  const headers = Object.fromEntries(await client.getRequestHeaders());
  return { headers, expiresMs: client.credentials.expiry_date ?? 0 };
}
