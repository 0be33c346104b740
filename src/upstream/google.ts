/**
 * Google's application default credentials, found by Google's own package. The package is large, so this module must be
 * imported only when a request needs it.
 */
import { Agent as TlsAgent } from 'node:https';
import { type AuthClient, GoogleAuth, gaxios, gcpMetadata } from 'google-auth-library';
import { Agent } from '../core/node-http.ts';
import type { HttpProxy } from '../core/proxy.ts';
import { type RequestBounds, withBoundedRequests, withoutBody } from './bounded-requests.ts';
import { keptProof, type Proof, type Proofs } from './kept-proof.ts';
import { TunnelAgent } from './tunnel.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Tokens have less than 4 KB. The package retries a silent metadata server for up to 9 s before it tries other sources. */
const BOUNDS: RequestBounds = { milliseconds: 15_000, maxBytes: 256 * 1024 };

export interface GoogleOptions {
  /** The project whose models are requested. */
  readonly project: string;
  /** For requests to Google's token services. */
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
    // The package would return the same token until it expires.
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
  // The package would cache that no metadata server answered, for example because the network was not up yet.
  gcpMetadata.resetIsAvailableCache();
  oddAnswer = undefined;
  try {
    // Without a project, the package would look for one in several sources.
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
 * The agent for each address that the package connects to. Without one, it would use the environment's proxy. Plain HTTP is
 * used only by endpoints of this machine, which a proxy cannot reach.
 */
function agentsFor(proxy: HttpProxy | undefined) {
  const plain = new Agent();
  const tls = proxy === undefined ? new TlsAgent() : new TunnelAgent(proxy, 'https:');
  return ({ protocol }: URL) => (protocol === 'https:' ? tls : plain);
}

/** The package exchanges tokens of federated identities with a separate client, which the options do not configure. */
function useAgentForExchange(client: AuthClient): void {
  const { stsCredential } = client as { stsCredential?: { transporter: gaxios.Gaxios } };
  // A client with a certificate for mutual TLS has its own agent.
  if (stsCredential !== undefined && stsCredential.transporter.defaults.agent === undefined) {
    stsCredential.transporter = client.transporter;
  }
}

// The package connects to the metadata server with its shared client.
gaxios.instance.defaults = { ...gaxios.instance.defaults, agent: agentsFor(undefined) };

/** The package's warning about an unexpected answer at the metadata address, for example by a proxy. */
let oddAnswer: string | undefined;

// Captures the warning, which Node would print on stderr instead of the log.
const { emitWarning } = process;
process.emitWarning = (warning: string | Error, ...options: unknown[]) => {
  if (options[0] === 'MetadataLookupWarning') oddAnswer = String(warning);
  else Reflect.apply(emitWarning, process, [warning, ...options]);
};

/** The package caches a token, and requests the next one shortly before it expires. */
async function proofOf(client: AuthClient): Promise<Proof> {
  const headers = Object.fromEntries(await client.getRequestHeaders());
  return { headers, expiresMs: client.credentials.expiry_date ?? 0 };
}
