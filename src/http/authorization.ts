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

/** Unknown, deleted and malformed keys get the same error, so that clients cannot distinguish them. */
export const INVALID_API_KEY: ClientError = {
  code: 'invalid_api_key',
  message: 'Invalid API key. Check that it is complete and has not been deleted.',
};

export const API_KEY_DISABLED: ClientError = {
  code: 'api_key_disabled',
  message: 'This API key is disabled. Ask the operator of this gateway to enable it, or use another key.',
};

/**
 * Returns the key of a request, from `Authorization`, `x-api-key` and `x-goog-api-key`, and for Google's paths from the query of
 * `target`. Clients such as Claude Code send their key in two headers. Headers with different keys are refused: a proxy in front
 * of the gateway might account for one key, and the gateway for the other.
 */
export function credentialOf(headers: IncomingHttpHeaders, target = ''): Credential {
  const { authorization } = headers;
  const bare = [...keysIn(headers['x-api-key']), ...keysIn(headers['x-goog-api-key']), ...queryKeysIn(target)];
  const [key] = bare;
  if (key === undefined) return bearerCredential(authorization);
  const isSame =
    bare.every((other) => other === key) && (authorization === undefined || bearerKey(authorization) === key);
  if (!isSame) return { ok: false, error: DIFFERENT_KEYS };
  return key === '' ? { ok: false, error: UNAUTHORIZED } : keyCredential(key);
}

/** Returns the keys in a header. The server joins the values of repeated lines with a comma and a space; keys contain neither. */
function keysIn(header: string | string[] | undefined): readonly string[] {
  return header === undefined ? [] : String(header).split(', ');
}

/** Only Google's clients send their key in the query. */
function queryKeysIn(target: string): readonly string[] {
  return isOfGoogle(pathOf(target)) ? queryOf(target).getAll('key') : [];
}

const DIFFERENT_KEYS: ClientError = {
  code: 'invalid_request',
  message:
    'The request contains different API keys. ' +
    'Send one key: as `Authorization: Bearer <key>`, `x-api-key: <key>` or `x-goog-api-key: <key>`.',
};

function bearerCredential(header: string | undefined): Credential {
  const key = bearerKey(header);
  return key === undefined ? { ok: false, error: UNAUTHORIZED } : keyCredential(key);
}

/**
 * Returns the text after the scheme, which may be in any case, and exactly one space; undefined if the header has another form.
 * Further spaces remain in the text, which is then no well-formed key. Trailing white space is not part of a header value (RFC
 * 9110, 5.5), and the parser drops it.
 */
function bearerKey(header: string | undefined): string | undefined {
  const [, scheme = '', rest = ''] = /^(\S*)(.*)$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer' || rest.trim() === '') return undefined;
  return rest.startsWith(' ') ? rest.slice(1) : rest;
}

/** Recently used well-formed keys: checking and hashing a key takes as long as routing its request. */
const recent = new Map<string, Credential>();
/** Bounds the memory that invented keys can take. The whole cache is cleared when it is full. */
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
