/** The `Authorization` header: which key a request carries. */

import { hashKey, isWellFormedKey } from '../core/api-key.ts';
import type { ClientError } from '../core/errors.ts';

export type Credential =
  | { readonly ok: true; readonly keyHash: string }
  | { readonly ok: false; readonly error: ClientError };

const UNAUTHORIZED: ClientError = {
  code: 'unauthorized',
  message: 'No API key was sent. Send the header `Authorization: Bearer <key>` with a key that begins with sk-inf-.',
};

/** The same for keys that are unknown, deleted or malformed, so that nobody can tell these apart. */
export const INVALID_API_KEY: ClientError = {
  code: 'invalid_api_key',
  message: 'The API key is not valid. Check that it is complete and was not deleted.',
};

export const API_KEY_DISABLED: ClientError = {
  code: 'api_key_disabled',
  message: 'The API key is disabled. Ask the operator of this gateway to enable it, or use another key.',
};

/** Reads the header. The scheme is compared without case; one space, then the key. */
export function credentialOf(header: string | undefined): Credential {
  const [, scheme = '', rest = ''] = /^(\S*)(.*)$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer' || rest.trim() === '') return { ok: false, error: UNAUTHORIZED };
  const key = rest.slice(1);
  if (!rest.startsWith(' ') || !isWellFormedKey(key)) return { ok: false, error: INVALID_API_KEY };
  return { ok: true, keyHash: hashKey(key) };
}
