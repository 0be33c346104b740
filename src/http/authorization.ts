/** Reads the API key from the `Authorization` header. */

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

/**
 * Parses the header: the scheme in any case, exactly one space, then the key. White space after the
 * key cannot be seen: it is no part of a header's value (RFC 9110, 5.5), and Node's parser drops it,
 * from `rawHeaders` too.
 */
export function credentialOf(header: string | undefined): Credential {
  const [, scheme = '', rest = ''] = /^(\S*)(.*)$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer' || rest.trim() === '') return { ok: false, error: UNAUTHORIZED };
  const key = rest.slice(1);
  if (!rest.startsWith(' ') || !isWellFormedKey(key)) return { ok: false, error: INVALID_API_KEY };
  return { ok: true, keyHash: hashKey(key) };
}
