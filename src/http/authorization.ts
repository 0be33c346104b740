/** Reads the API key from the headers of a request. */

import type { IncomingHttpHeaders } from 'node:http';
import { hashKey, isWellFormedKey } from '../core/api-key.ts';
import type { ClientError } from '../core/errors.ts';
import { isOfGoogle, pathOf, queryOf } from './routes.ts';

export type Credential =
  | { readonly ok: true; readonly keyHash: string }
  | { readonly ok: false; readonly error: ClientError };

const UNAUTHORIZED: ClientError = {
  code: 'unauthorized',
  message: 'Missing API key. Send `Authorization: Bearer <key>` with a key that starts with sk-inf-.',
};

/**
 * The same error for unknown, deleted and malformed keys, so that a client cannot distinguish them.
 */
export const INVALID_API_KEY: ClientError = {
  code: 'invalid_api_key',
  message: 'Invalid API key. Check that it is complete and has not been deleted.',
};

export const API_KEY_DISABLED: ClientError = {
  code: 'api_key_disabled',
  message: 'This API key is disabled. Ask the operator of this gateway to enable it, or use another key.',
};

/**
 * The key of a request, from `Authorization`, `x-api-key` or `x-goog-api-key`. `target`: with the path and query of the
 * request, where Google's clients may have it.
 */
export function credentialOf(headers: IncomingHttpHeaders, target = ''): Credential {
  const bare = [headers['x-api-key'], headers['x-goog-api-key'], queryKeyIn(target)].filter((key) => key !== undefined);
  const [key] = bare;
  if (key === undefined) return bearerCredential(headers.authorization);
  if (bare.length > 1 || headers.authorization !== undefined) return { ok: false, error: TWO_KEYS };
  return key === '' ? { ok: false, error: UNAUTHORIZED } : keyCredential(String(key));
}

/** Only in the paths of Google's dialect: elsewhere nobody expects a key to be in an address. */
function queryKeyIn(target: string): string | undefined {
  if (!isOfGoogle(pathOf(target))) return undefined;
  return queryOf(target).get('key') ?? undefined;
}

const TWO_KEYS: ClientError = {
  code: 'invalid_request',
  message: 'Two API keys: send either `Authorization: Bearer <key>`, `x-api-key: <key>` or `x-goog-api-key: <key>`.',
};

/**
 * Parses the header: the scheme in any case, exactly one space, then the key. White space after the
 * key cannot be seen: it is no part of a header's value (RFC 9110, 5.5), and Node's parser drops it,
 * from `rawHeaders` too.
 */
function bearerCredential(header: string | undefined): Credential {
  const [, scheme = '', rest = ''] = /^(\S*)(.*)$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer' || rest.trim() === '') return { ok: false, error: UNAUTHORIZED };
  const key = rest.slice(1);
  return rest.startsWith(' ') ? keyCredential(key) : { ok: false, error: INVALID_API_KEY };
}

/** Well-formed keys that came lately, by themselves: to check and hash one takes as long as to route its request. */
const recent = new Map<string, Credential>();
/** Whoever makes keys up has all of them forgotten again and again, and takes no more memory than this. */
const MAX_RECENT = 1_000;

function keyCredential(key: string): Credential {
  const known = recent.get(key);
  if (known !== undefined) return known;
  if (!isWellFormedKey(key)) return { ok: false, error: INVALID_API_KEY };
  const credential: Credential = { ok: true, keyHash: hashKey(key) };
  if (recent.size >= MAX_RECENT) recent.clear();
  recent.set(key, credential);
  return credential;
}
