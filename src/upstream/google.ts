/**
 * Google's application default credentials, as its own package finds them. To be imported when the first request needs it,
 * since that is large.
 */
import { type AuthClient, GoogleAuth, gcpMetadata } from 'google-auth-library';

/** Returns the headers that prove who sends a request. Rejects where there are no credentials. */
export type Authorize = () => Promise<Record<string, string>>;

interface Proof {
  readonly headers: Record<string, string>;
  readonly expiresMs: number;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** `project`: whose models are asked for. */
export function authorizer(project: string): Authorize {
  let client: AuthClient | undefined;
  let last: Proof | undefined;
  return async () => {
    try {
      client ??= await findClient(project);
      last = await proofOf(client);
      return last.headers;
    } catch (error) {
      // Its next token is asked for five minutes before it expires.
      if (last !== undefined && Date.now() < last.expiresMs) return last.headers;
      client = undefined;
      throw error;
    }
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
