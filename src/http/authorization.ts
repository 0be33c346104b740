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
 * The key of a request, from `Authorization`, `x-api-key` and `x-goog-api-key`, and in Google's paths from the query of
 * `target`. Clients such as Claude Code send their key in two headers. Headers that disagree are refused: a proxy before
 * the gateway might account for the one key, and the gateway for the other.
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

/** The keys in a header. The server joins the values of repeated lines with a comma and a space; no key contains one. */
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
 * The text after the scheme, which may be in any case, and exactly one space; undefined if the header has another form.
 * More space stays in the text, which is then no well-formed key. White space at the end never arrives: it is no part of
 * a header's value (RFC 9110, 5.5), and Node's parser drops it, from `rawHeaders` too.
 */
function bearerKey(header: string | undefined): string | undefined {
  const [, scheme = '', rest = ''] = /^(\S*)(.*)$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer' || rest.trim() === '') return undefined;
  return rest.startsWith(' ') ? rest.slice(1) : rest;
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
