/** The routes: paths and the methods they allow. */

import type { DialectName } from '../core/dialects.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import { HEALTHZ, READYZ } from './health.ts';
import { noSuchPath } from './unknown-path.ts';

export type Route =
  /** A request to a model, in a dialect. */
  | { readonly kind: 'model_request'; readonly dialect: DialectName }
  | { readonly kind: 'count_tokens' }
  | { readonly kind: 'kept_response'; readonly id: string }
  | { readonly kind: 'show_key' }
  /** The keys that a key has made, or one of them. */
  | { readonly kind: 'child_keys'; readonly id: string | undefined }
  | { readonly kind: 'list_models' }
  | { readonly kind: 'show_model'; readonly id: string }
  | { readonly kind: 'healthz' }
  | { readonly kind: 'readyz' };

export type Routing =
  | { readonly ok: true; readonly route: Route }
  | { readonly ok: false; readonly error: ClientError };

const MODEL_PREFIX = '/v1/models/';
/** Ids are what hosts write, and no more than a path can hold as it is. */
const KEPT_RESPONSE = /^\/v1\/responses\/(?<id>[\w.-]{1,200})$/;
const KEY_PATH = '/v1/key';
const KEYS_PATH = '/v1/keys';
const CHILD_KEY = /^\/v1\/keys\/(?<id>[\w]{1,200})$/;
const COUNT_TOKENS_PATH = '/v1/messages/count_tokens';

/** Beside single models. */
const LISTINGS: ReadonlySet<string> = new Set(['/v1/models', KEY_PATH, KEYS_PATH, COUNT_TOKENS_PATH]);

/** The route of a request, or its 404 or 405. HEAD takes the route of GET. */
export function routeOf(method: string, path: string): Routing {
  const route = routeOfPath(path);
  if (route === undefined) return { ok: false, error: noSuchPath(path) };
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
  switch (path) {
    case '/v1/chat/completions':
      return { kind: 'model_request', dialect: 'chat' };
    case '/v1/responses':
      return { kind: 'model_request', dialect: 'responses' };
    case '/v1/embeddings':
      return { kind: 'model_request', dialect: 'embeddings' };
    case '/v1/messages':
      return { kind: 'model_request', dialect: 'messages' };
    case COUNT_TOKENS_PATH:
      return { kind: 'count_tokens' };
    case KEY_PATH:
      return { kind: 'show_key' };
    case KEYS_PATH:
      return { kind: 'child_keys', id: undefined };
    case '/v1/models':
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
      const id = path.startsWith(MODEL_PREFIX) ? decoded(path.slice(MODEL_PREFIX.length)) : undefined;
      return id === undefined || id === '' ? undefined : { kind: 'show_model', id };
    }
  }
}

/** The official clients encode the slash of a model id as %2F. */
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
  return path.replace(/^https?:\/\/[^/]*/i, '') || '/';
}

/** True for the paths under which every response has the rate-limit headers. */
export function isUnderV1(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** By their names in lower case. */
export type RequestHeaders = Readonly<Record<string, unknown>>;

/** Paths that clients of chat and of messages have in common, also where there is nothing. */
const SHARED: readonly string[] = ['/v1/models', '/v1/files'];

/** The dialect in which a client of a path reads errors: of those with paths in common the headers tell which it is. */
export function dialectOfErrors(path: string, headers: RequestHeaders): DialectName {
  const route = routeOfPath(path);
  if (route?.kind === 'model_request') return route.dialect;
  if (isAtOrBelow(path, '/v1/messages')) return 'messages';
  const isAnthropic = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined;
  return isAnthropic && SHARED.some((each) => isAtOrBelow(path, each)) ? 'messages' : 'chat';
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** True for the paths that count against the rate limit of model listings. */
export function isListing(path: string): boolean {
  return LISTINGS.has(path) || path.startsWith(MODEL_PREFIX) || KEPT_RESPONSE.test(path) || CHILD_KEY.test(path);
}
