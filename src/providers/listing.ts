/** Builds a free request that shows whether a host accepts a key. Pure. */
import { bedrockAddress } from '../core/bedrock.ts';
import type { DialectName } from '../core/dialects.ts';
import { DEFAULT_HEADERS, endpointOf, type Host } from './host.ts';

export interface Listing {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the response depends on the key. */
  readonly tellsKey: boolean;
}

const MODELS = '/models';
/** Bedrock lists its models on a separate host. */
const BEDROCK_MODELS = '/foundation-models';
/** Google's models. A project's listing contains only models deployed by the project. */
const GOOGLE_MODELS = '/v1beta1/publishers/google/models';
/** Hosts with a public model listing, and the path that verifies a key. */
const OTHER_PATHS: Readonly<Record<string, string>> = { 'openrouter.ai': '/key' };
/** Hosts without a model listing: Bedrock's runtime, and Claude in Foundry. They answer unknown paths inconsistently. */
const WITHOUT_LISTING = /^bedrock-runtime[.-]|\.services\.ai\.azure\.com\/anthropic\//;

/** Suffix of an Azure deployment's path. The model listing is above the deployments. */
const DEPLOYMENT = /\/deployments\/[^/]+$/;

/** `dialects`: the host's dialects. */
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

/** Returns the same request without a key. */
export function publicListingOf(host: Host, dialects: readonly DialectName[], userAgent: string): Listing {
  return listingOf({ ...host, apiKey: undefined, headers: {} }, dialects, userAgent);
}
