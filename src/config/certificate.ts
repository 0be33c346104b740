/** Reads and checks the files of the listener's certificate. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { DAY_MS } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { CertificatePair } from '../core/settings.ts';
import type { TlsFiles } from './config.ts';

/** Warns from this time before the expiry on. Automatic renewal usually happens a month ahead. */
export const SOON_MS = 14 * DAY_MS;

export interface Certificate {
  readonly pair: CertificatePair;
  readonly expiresAtMs: number;
  /** The names and addresses of the certificate in its order, without wildcards. */
  readonly names: readonly string[];
}

/** Reads the certificate. Throws a UserError if the files cannot serve at this time. */
export function readCertificate({ cert, key }: TlsFiles, nowMs: number): Certificate {
  const pair = { cert: readPem('cert', cert), key: readPem('key', key) };
  const x509 = parsedCertificate(cert, pair.cert);
  if (!x509.checkPrivateKey(parsedKey(key, pair.key))) {
    throw new UserError(
      `tls.key: ${key} is not the key of the certificate in ${cert}, which has to be the first there`,
    );
  }
  const expiresAtMs = Date.parse(x509.validTo);
  if (expiresAtMs <= nowMs) throw new UserError(`tls.cert: ${cert} expired on ${dayOf(expiresAtMs)}; renew it`);
  const beginsAtMs = Date.parse(x509.validFrom);
  if (beginsAtMs > nowMs) {
    throw new UserError(`tls.cert: ${cert} is not valid before ${new Date(beginsAtMs).toISOString()}; check the clock`);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new UserError(`tls.cert: TLS cannot use ${cert} (${codeOf(error)})`);
  }
  return { pair, expiresAtMs, names: namesOf(x509) };
}

/** The expiry of a certificate, and whether it is soon. */
export function validityOf(
  { expiresAtMs }: Certificate,
  nowMs: number,
): { readonly text: string; readonly isShort: boolean } {
  const text = `${expiresAtMs > nowMs ? 'valid until' : 'invalid since'} ${dayOf(expiresAtMs)}`;
  return { text, isShort: expiresAtMs - nowMs < SOON_MS };
}

/** A text that changes whenever the files do, even if they cannot be read. */
export function versionOf({ cert, key }: TlsFiles): string {
  const versions = [cert, key].map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && [stats.dev, stats.ino, stats.size, stats.mtimeMs];
  });
  return JSON.stringify(versions);
}

function readPem(field: keyof TlsFiles, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') throw new UserError(`tls.${field}: there is no file ${path}`);
    throw new UserError(`tls.${field}: cannot read ${path} (${code}); the user that runs the gateway has to`);
  }
}

function parsedCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new UserError(`tls.cert: ${path} has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----`);
  }
}

function parsedKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    const isEncrypted = /ENCRYPTED/.test(pem);
    throw new UserError(
      isEncrypted
        ? `tls.key: ${path} is encrypted, and nobody is there to type its password: openssl pkey -in ${path} -out <file>`
        : `tls.key: ${path} has no private key in PEM`,
    );
  }
}

function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  const names = [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,]+)/g)].map(([, name = '']) => name);
  return names.filter((name) => !name.includes('*'));
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
