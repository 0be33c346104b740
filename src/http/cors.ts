/** Cross-origin requests: which pages of browsers may read answers, and what a preflight is told. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { SENT_HEADERS } from './headers.ts';

/** The origins whose pages may use the gateway. */
export interface CorsPolicy {
  /** Whether every origin may. */
  readonly isOpen: boolean;
  readonly origins: ReadonlySet<string>;
}

/** How long a browser may go without asking again: the longest that Chrome remembers. */
const MAX_AGE_S = 7_200;
const METHODS = 'GET, HEAD, POST, DELETE';

/** Headers that clients may send, beside those that every page may. */
const ALLOWED: readonly string[] = [
  'Authorization',
  'Content-Type',
  'X-Api-Key',
  'Idempotency-Key',
  'X-Client-Request-Id',
  'X-Inf-Gw-Tag',
  'X-Inf-Gw-User',
  // Of the AI SDK, in browsers that let a page set it.
  'User-Agent',
  'Cache-Control',
];
/** Official clients have dozens of headers, and new ones with each version. All begin with one of these. */
const ALLOWED_FAMILIES = /^(?:x-stainless|anthropic|openai)-[a-z0-9-]+$/;

const EXPOSED = Object.values(SENT_HEADERS).join(', ');
const VARY: readonly string[] = ['Vary', 'Origin'];

/** `*` among the origins stands for all. */
export function corsPolicy(origins: readonly string[]): CorsPolicy {
  return { isOpen: origins.includes('*'), origins: new Set(origins) };
}

/**
 * What belongs on the answer to a request from a page of this origin, as a flat list of names and
 * values. A browser shows the answer to the page only if its origin is named. Caches are told in any
 * case that other pages may get another answer.
 */
export function corsHeaders(policy: CorsPolicy | undefined, origin: string | undefined): readonly string[] {
  if (policy === undefined) return [];
  if (origin === undefined || !allows(policy, origin)) return VARY;
  const allowed = policy.isOpen ? '*' : origin;
  return ['Access-Control-Allow-Origin', allowed, 'Access-Control-Expose-Headers', EXPOSED, ...VARY];
}

/** What a preflight is told besides; undefined if the request is none, or its page may not use the gateway. */
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
