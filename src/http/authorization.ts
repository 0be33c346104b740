/** Reads the API key from the headers of a request. */

import type { IncomingHttpHeaders } from 'node:http';
import { hashKey, isWellFormedKey } from '../core/api-key.ts';
import type { ClientError } from '../core/errors.ts';

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

/** The key of a request, from `Authorization` or from `x-api-key`. */
export function credentialOf(headers: IncomingHttpHeaders): Credential {
  const apiKey = headers['x-api-key'];
  if (apiKey === undefined) return bearerCredential(headers.authorization);
  if (headers.authorization !== undefined) return { ok: false, error: TWO_KEYS };
  return apiKey === '' ? { ok: false, error: UNAUTHORIZED } : keyCredential(String(apiKey));
}

const TWO_KEYS: ClientError = {
  code: 'invalid_request',
  message: 'Two API keys: send either `Authorization: Bearer <key>` or `x-api-key: <key>`.',
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

function keyCredential(key: string): Credential {
  return isWellFormedKey(key) ? { ok: true, keyHash: hashKey(key) } : { ok: false, error: INVALID_API_KEY };
}
