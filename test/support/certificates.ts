/** The certificates of the test hosts, for gateways that speak TLS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SecureOptions } from './raw.ts';

const FOLDER = join(import.meta.dirname, '../faults/certificates');

type FileName =
  | 'valid.crt'
  | 'expired.crt'
  | 'wrong-name.crt'
  | 'unknown.crt'
  | 'authority.crt'
  | 'host.key'
  | 'rsa.crt'
  | 'rsa.key';

export function certificatePath(name: FileName): string {
  return join(FOLDER, name);
}

export function pem(name: FileName): string {
  return readFileSync(certificatePath(name), 'utf8');
}

/** The field `tls` of a config: for this machine. */
export const TLS = { cert: certificatePath('valid.crt'), key: certificatePath('host.key') };

/** What a client needs that trusts the authority of the tests. */
export const TRUSTING: SecureOptions = { ca: pem('authority.crt') };
