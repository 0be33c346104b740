/**
 * Google's application default credentials, as its own package finds them. To be imported when the first request needs it,
 * since that is large.
 */
import { Agent as TlsAgent } from 'node:https';
import { type AuthClient, GoogleAuth, gaxios, gcpMetadata } from 'google-auth-library';
import { Agent } from '../core/node-http.ts';
import type { HttpProxy } from '../core/proxy.ts';
import { type RequestBounds, withBoundedRequests, withoutBody } from './bounded-requests.ts';
import { keptProof, type Proof, type Proofs } from './kept-proof.ts';
import { TunnelAgent } from './tunnel.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Tokens have less than 4 KB. The package retries a silent metadata server for up to 9 s before it looks elsewhere. */
const BOUNDS: RequestBounds = { milliseconds: 15_000, maxBytes: 256 * 1024 };

export interface GoogleOptions {
  /** Whose models are asked for. */
  readonly project: string;
  /** For requests to Google's services that give tokens. */
  readonly proxy?: HttpProxy | undefined;
  readonly bounds?: RequestBounds;
}

/** Concurrent requests share one lookup. */
export function authorizer({ project, proxy, bounds = BOUNDS }: GoogleOptions): Proofs {
  let client: AuthClient | undefined;
  const find = async () => {
    client ??= await findClient(project, proxy);
    return proofOf(client);
  };
  return keptProof(async (isRefused) => {
    // The package would give the same token until it expires.
    if (isRefused) client = undefined;
    try {
      return await withBoundedRequests(bounds, find).catch(withoutBody);
    } catch (error) {
      client = undefined;
      throw error;
    }
  });
}

async function findClient(projectId: string, proxy: HttpProxy | undefined): Promise<AuthClient> {
  // The package would remember that no metadata server answered, such as before the network was up.
  gcpMetadata.resetIsAvailableCache();
  oddAnswer = undefined;
  try {
    // Without a project it would ask several places for one.
    const clientOptions = { transporterOptions: { agent: agentsFor(proxy) } };
    const client = await new GoogleAuth({ scopes: SCOPE, projectId, clientOptions }).getClient();
    useAgentForExchange(client);
    return client;
  } catch (error) {
    if (oddAnswer === undefined) throw error;
    throw new Error(`${String(error)} At the address of the metadata server something else answered: ${oddAnswer}`);
  }
}

/**
 * The agent for each address that the package asks. Without one, it would use a proxy that the environment names. Plain HTTP
 * is spoken by endpoints of this machine, which no proxy can reach.
 */
function agentsFor(proxy: HttpProxy | undefined) {
  const plain = new Agent();
  const tls = proxy === undefined ? new TlsAgent() : new TunnelAgent(proxy, 'https:');
  return ({ protocol }: URL) => (protocol === 'https:' ? tls : plain);
}

/** The package exchanges the tokens of federated identities with another client, which the options do not reach. */
function useAgentForExchange(client: AuthClient): void {
  const { stsCredential } = client as { stsCredential?: { transporter: gaxios.Gaxios } };
  // One with a certificate for mutual TLS has its own agent.
  if (stsCredential !== undefined && stsCredential.transporter.defaults.agent === undefined) {
    stsCredential.transporter = client.transporter;
  }
}

// The metadata server is asked with the package's shared client.
gaxios.instance.defaults = { ...gaxios.instance.defaults, agent: agentsFor(undefined) };

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
