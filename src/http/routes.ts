/** The routes: paths and their methods. */

import { DIALECT_PATHS, type DialectName } from '../core/dialects.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import { HEALTHZ, READYZ } from './health.ts';
import { JsonArray } from './json-array.ts';
import { noSuchPath } from './unknown-path.ts';

export type Route =
  /** A model request in a dialect. */
  | { readonly kind: 'model_request'; readonly dialect: DialectName }
  | { readonly kind: 'count_tokens'; readonly dialect: 'messages' | 'gemini' }
  | { readonly kind: 'kept_response'; readonly id: string }
  | { readonly kind: 'show_key' }
  /** The child keys of a key, or one of them. */
  | { readonly kind: 'child_keys'; readonly id: string | undefined }
  | { readonly kind: 'list_models' }
  | { readonly kind: 'show_model'; readonly id: string }
  | { readonly kind: 'healthz' }
  | { readonly kind: 'readyz' };

export type Routing =
  | { readonly ok: true; readonly route: Route }
  | { readonly ok: false; readonly error: ClientError };

/** The paths of model requests, except in Google's dialect. */
const MODEL_PATHS: ReadonlyMap<string, DialectName> = new Map(
  Object.entries(DIALECT_PATHS).map(([dialect, path]) => [`/v1${path}`, dialect as DialectName]),
);
const MODEL_PREFIX = '/v1/models/';
/** Matches response ids of hosts that fit into a path unescaped. The two excluded words are unserved endpoints. */
const KEPT_RESPONSE = /^\/v1\/responses\/(?!(?:compact|input_tokens)$)(?<id>[\w.-]{1,200})$/;
const KEY_PATH = '/v1/key';
const KEYS_PATH = '/v1/keys';
const CHILD_KEY = /^\/v1\/keys\/(?<id>[\w]{1,200})$/;
const COUNT_TOKENS_PATH = '/v1/messages/count_tokens';

/** The prefix of Google's paths. */
const GOOGLE = '/v1beta';
const GOOGLE_MODELS = `${GOOGLE}/models`;
/** Model names may contain colons and slashes, which may be encoded. Newer clients use `/v1`. */
const GOOGLE_METHOD =
  /^\/v1(?:beta)?\/models\/(?<model>.+):(?<method>generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/;

/** Matches unserved methods of Google's dialect, such as `:embedText`. Model names end differently. */
const OTHER_GOOGLE_METHOD = /:(?:predict|[a-z]+(?:[A-Z][a-z]+)+)$/;

/** Listing paths other than single models. */
const LISTINGS: ReadonlySet<string> = new Set(['/v1/models', KEY_PATH, KEYS_PATH, COUNT_TOKENS_PATH]);

/** Codex first opens a WebSocket for responses, and falls back to HTTP immediately only after this status. */
const NO_WEBSOCKET: ClientError = {
  code: 'invalid_request',
  status: 426,
  message: 'WebSockets are not served here. Send the request over HTTP, with POST.',
  upgrade: 'HTTP/1.1',
};

/** Returns the route of a request, or its 404, 405 or 426. HEAD uses the route of GET. `upgrade`: the `Upgrade` header. */
export function routeOf(method: string, path: string, upgrade?: string): Routing {
  const route = routeOfPath(path);
  const isUnserved = method === 'POST' && route?.kind === 'show_model' && OTHER_GOOGLE_METHOD.test(path);
  if (route === undefined || isUnserved) return { ok: false, error: noSuchPath(path) };
  const isOfResponses = route.kind === 'model_request' && route.dialect === 'responses';
  if (isOfResponses && upgrade?.toLowerCase() === 'websocket') return { ok: false, error: NO_WEBSOCKET };
  const allowed = methodsOf(route);
  if (allowed.includes(method)) return { ok: true, route };
  const allow = allowed.join(', ');
  const message = `Method ${method} is not allowed for ${printableName(path)}. Allowed: ${allow}.`;
  return { ok: false, error: { code: 'invalid_request', status: 405, message, allow } };
}

function methodsOf(route: Route): readonly string[] {
  switch (route.kind) {
    case 'model_request':
    case 'count_tokens':
      return ['POST'];
    case 'kept_response':
      return ['GET', 'HEAD', 'DELETE'];
    case 'child_keys':
      return route.id === undefined ? ['GET', 'HEAD', 'POST'] : ['DELETE'];
    default:
      return ['GET', 'HEAD'];
  }
}

function routeOfPath(path: string): Route | undefined {
  const dialect = MODEL_PATHS.get(path);
  if (dialect !== undefined) return { kind: 'model_request', dialect };
  switch (path) {
    case COUNT_TOKENS_PATH:
      return { kind: 'count_tokens', dialect: 'messages' };
    case KEY_PATH:
      return { kind: 'show_key' };
    case KEYS_PATH:
      return { kind: 'child_keys', id: undefined };
    case '/v1/models':
    case GOOGLE_MODELS:
      return { kind: 'list_models' };
    case HEALTHZ:
      return { kind: 'healthz' };
    case READYZ:
      return { kind: 'readyz' };
    default: {
      const kept = KEPT_RESPONSE.exec(path)?.groups?.id;
      if (kept !== undefined) return { kind: 'kept_response', id: kept };
      const child = CHILD_KEY.exec(path)?.groups?.id;
      if (child !== undefined) return { kind: 'child_keys', id: child };
      const asked = googleMethodOf(path);
      if (asked?.method === 'countTokens') return { kind: 'count_tokens', dialect: 'gemini' };
      if (asked !== undefined) return { kind: 'model_request', dialect: dialectOfMethod(asked.method) };
      const prefix = [MODEL_PREFIX, `${GOOGLE_MODELS}/`].find((each) => path.startsWith(each));
      const id = prefix === undefined ? undefined : decoded(path.slice(prefix.length));
      return id === undefined || id === '' ? undefined : { kind: 'show_model', id };
    }
  }
}

function googleMethodOf(path: string): { readonly model: string; readonly method: string } | undefined {
  // Fast path: called several times per request, and most paths contain no colon.
  if (!path.includes(':')) return undefined;
  const { model: encoded = '', method = '' } = GOOGLE_METHOD.exec(path)?.groups ?? {};
  const model = decoded(encoded);
  return model === undefined || model === '' ? undefined : { model, method };
}

function dialectOfMethod(method: string): DialectName {
  return /^(?:embed|batchEmbed)/.test(method) ? 'gemini_embeddings' : 'gemini';
}

/** Returns the request parameters that Google's paths contain instead of the body. */
export function addressOf(path: string): Address | undefined {
  const asked = googleMethodOf(path);
  if (asked === undefined) return undefined;
  const { model, method } = asked;
  return { model, stream: method === 'streamGenerateContent', isBatch: method === 'batchEmbedContents' };
}

interface Address {
  readonly model: string;
  readonly stream: boolean;
  readonly isBatch: boolean;
}

/** Returns the framing of a stream; undefined for server-sent events. Without `alt=sse`, Google's clients expect an array. */
export function framingOf(target: string): JsonArray | undefined {
  const isStream = googleMethodOf(pathOf(target))?.method === 'streamGenerateContent';
  return isStream && queryOf(target).get('alt') !== 'sse' ? new JsonArray() : undefined;
}

/** Official clients encode the slash of a model id as %2F. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The path of a request target, without its query. The target may be an absolute URL. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '') || '/';
}

/** The query of a request target. */
export function queryOf(target: string): URLSearchParams {
  const query = target.indexOf('?');
  return new URLSearchParams(query < 0 ? '' : target.slice(query));
}

/** Reports whether responses on a path have rate-limit headers. */
export function isUnderV1(path: string): boolean {
  return isAtOrBelow(path, '/v1') || isUnderGoogle(path);
}

/** Reports whether only Google's dialect uses a path. */
export function isOfGoogle(path: string): boolean {
  return isUnderGoogle(path) || googleMethodOf(path) !== undefined;
}

/** Reports whether a listing is for a Google client, by its path or its headers. */
export function isGoogleClient(path: string, headers: RequestHeaders): boolean {
  return isUnderGoogle(path) || headers['x-goog-api-key'] !== undefined || headers['x-goog-api-client'] !== undefined;
}

function isUnderGoogle(path: string): boolean {
  return isAtOrBelow(path, GOOGLE);
}

/** Headers by lower-case name. */
export type RequestHeaders = Readonly<Record<string, unknown>>;

/** Paths that clients of several dialects use, including unserved ones. */
const SHARED: readonly string[] = ['/v1/models', '/v1/files'];

/** Returns the dialect of error responses on a path. On shared paths, the headers identify the client. */
export function dialectOfErrors(path: string, headers: RequestHeaders): DialectName {
  const route = routeOfPath(path);
  if (route?.kind === 'model_request') return route.dialect;
  if (isAtOrBelow(path, '/v1/messages')) return 'messages';
  const isShared = SHARED.some((each) => isAtOrBelow(path, each));
  if (isUnderGoogle(path) || (isShared && isGoogleClient(path, headers))) return 'gemini';
  const isAnthropic = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined;
  return isAnthropic && isShared ? 'messages' : 'chat';
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Reports whether a path counts against the rate limit of model listings. */
export function isListing(path: string): boolean {
  if (MODEL_PATHS.has(path)) return false;
  const asked = googleMethodOf(path);
  if (asked !== undefined) return asked.method === 'countTokens';
  if (isUnderGoogle(path)) return true;
  return LISTINGS.has(path) || path.startsWith(MODEL_PREFIX) || KEPT_RESPONSE.test(path) || CHILD_KEY.test(path);
}
