/**
 * Google's application default credentials, as its own package finds them. To be imported when the first request needs it,
 * since that is large.
 */
import { type AuthClient, GoogleAuth, gcpMetadata } from 'google-auth-library';
import { keptProof, type Proof, type Proofs } from './kept-proof.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** `project`: whose models are asked for. */
export function authorizer(project: string): Proofs {
  let client: AuthClient | undefined;
  return keptProof(async (isRefused) => {
    // The package would give the same token until it expires.
    if (isRefused) client = undefined;
    try {
      client ??= await findClient(project);
      return await proofOf(client);
    } catch (error) {
      client = undefined;
      throw error;
    }
  });
}

async function findClient(projectId: string): Promise<AuthClient> {
  // The package would remember that no metadata server answered, such as before the network was up.
  gcpMetadata.resetIsAvailableCache();
  oddAnswer = undefined;
  try {
    // Without a project it would ask several places for one.
    return await new GoogleAuth({ scopes: SCOPE, projectId }).getClient();
  } catch (error) {
    if (oddAnswer === undefined) throw error;
    throw new Error(`${String(error)} At the address of the metadata server something else answered: ${oddAnswer}`);
  }
}

/** What last answered as no metadata server does, such as a proxy, in the package's words. */
let oddAnswer: string | undefined;

// The package would have Node print it on stderr, past the log.
const { emitWarning } = process;
process.emitWarning = (warning: string | Error, ...options: unknown[]) => {
  if (options[0] === 'MetadataLookupWarning') oddAnswer = String(warning);
  else Reflect.apply(emitWarning, process, [warning, ...options]);
};

/** The package keeps a token, and asks for the next one when that is about to expire. */
async function proofOf(client: AuthClient): Promise<Proof> {
  const headers = Object.fromEntries(await client.getRequestHeaders());
  return { headers, expiresMs: client.credentials.expiry_date ?? 0 };
}
