/** Cross-origin requests: the CORS headers of responses and preflights. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { SENT_HEADERS } from './headers.ts';

/** The origins whose pages may use the gateway. */
export interface CorsPolicy {
  /** Whether every origin is allowed. */
  readonly isOpen: boolean;
  readonly origins: ReadonlySet<string>;
}

/** Lifetime of a preflight result: the maximum in Chrome. */
const MAX_AGE_S = 7_200;
const METHODS = 'GET, HEAD, POST, DELETE';

/** Allowed request headers, in addition to the headers that CORS always allows. */
const ALLOWED: readonly string[] = [
  'Authorization',
  'Content-Type',
  'X-Api-Key',
  'Idempotency-Key',
  'X-Client-Request-Id',
  'X-Inf-Gw-Tag',
  'X-Inf-Gw-User',
  // The AI SDK sends it, in browsers that permit it.
  'User-Agent',
  'Cache-Control',
];
/** Official clients send dozens of headers with these prefixes, and each version adds some. */
const ALLOWED_FAMILIES = /^(?:x-stainless|anthropic|openai)-[a-z0-9-]+$/;

const EXPOSED = Object.values(SENT_HEADERS).join(', ');
const VARY: readonly string[] = ['Vary', 'Origin'];

/** `*` allows all origins. */
export function corsPolicy(origins: readonly string[]): CorsPolicy {
  return { isOpen: origins.includes('*'), origins: new Set(origins) };
}

/**
 * Returns the CORS headers of a response as a flat list of names and values. A browser shows the response to the page only if its
 * origin is listed. `Vary` is always set, since caches may serve several origins.
 */
export function corsHeaders(policy: CorsPolicy | undefined, origin: string | undefined): readonly string[] {
  if (policy === undefined) return [];
  if (origin === undefined || !allows(policy, origin)) return VARY;
  const allowed = policy.isOpen ? '*' : origin;
  return ['Access-Control-Allow-Origin', allowed, 'Access-Control-Expose-Headers', EXPOSED, ...VARY];
}

/** Returns the additional headers of a preflight response; undefined if the request is not a preflight of an allowed origin. */
export function preflightHeaders(
  policy: CorsPolicy | undefined,
  method: string | undefined,
  headers: IncomingHttpHeaders,
): readonly string[] | undefined {
  if (policy === undefined || method !== 'OPTIONS') return undefined;
  const { origin, 'access-control-request-method': asked } = headers;
  if (asked === undefined || origin === undefined || !allows(policy, origin)) return undefined;
  const own = (headers['access-control-request-headers'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => ALLOWED_FAMILIES.test(name));
  return [
    'Access-Control-Allow-Methods',
    METHODS,
    'Access-Control-Allow-Headers',
    [...ALLOWED, ...new Set(own)].join(', '),
    'Access-Control-Max-Age',
    String(MAX_AGE_S),
  ];
}

function allows({ isOpen, origins }: CorsPolicy, origin: string): boolean {
  return isOpen || origins.has(origin);
}
