/** The request by which a host tells whether it accepts a key, at no cost. Pure. */
import { bedrockAddress } from '../core/bedrock.ts';
import type { DialectName } from '../core/dialects.ts';
import { DEFAULT_HEADERS, endpointOf, type Host } from './host.ts';

export interface Listing {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** False where the answer says nothing about the key. */
  readonly tellsKey: boolean;
}

const MODELS = '/models';
/** Bedrock lists its models at a host of its own. */
const BEDROCK_MODELS = '/foundation-models';
/** What a project of Vertex AI lists is what was put there. Google's own models are above all projects. */
const GOOGLE_MODELS = '/v1beta1/publishers/google/models';
/** Hosts whose listing of models is public, but which say something of the key at another path. */
const OTHER_PATHS: Readonly<Record<string, string>> = { 'openrouter.ai': '/key' };
/** Bedrock's runtime and Claude in Foundry list no models, and answer unknown paths in ways of their own. */
const WITHOUT_LISTING = /^bedrock-runtime[.-]|\.services\.ai\.azure\.com\/anthropic\//;

/** The end of a path to a deployment of Azure's. The models are listed above all of them. */
const DEPLOYMENT = /\/deployments\/[^/]+$/;

/** `dialects`: what the host speaks. */
export function listingOf(host: Host, dialects: readonly DialectName[], userAgent: string): Listing {
  const { origin, path, query, headers } = endpointOf(host, userAgent);
  const { 'content-type': _, ...others } = headers;
  const { hostname } = new URL(origin);
  const [dialect] = dialects;
  if (host.region !== undefined) {
    const isUsual = host.baseUrl === bedrockAddress(host.region);
    const listing = isUsual ? bedrockAddress(host.region, 'bedrock') : origin;
    return {
      origin: listing,
      path: BEDROCK_MODELS,
      headers: { ...others, accept: 'application/json' },
      tellsKey: true,
    };
  }
  if (host.project !== undefined) {
    return { origin, path: GOOGLE_MODELS, headers: { ...others, accept: 'application/json' }, tellsKey: true };
  }
  return {
    origin,
    path: `${path.replace(DEPLOYMENT, '')}${OTHER_PATHS[hostname] ?? MODELS}${query}`,
    headers: { ...(dialect && DEFAULT_HEADERS[dialect]), ...others, accept: 'application/json' },
    tellsKey: !WITHOUT_LISTING.test(`${hostname}${path}`),
  };
}

/** The same request as somebody without a key would make it. */
export function publicListingOf(host: Host, dialects: readonly DialectName[], userAgent: string): Listing {
  return listingOf({ ...host, apiKey: undefined, headers: {} }, dialects, userAgent);
}
