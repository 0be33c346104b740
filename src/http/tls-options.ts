/** The TLS options of listeners. */
import type { CertificatePair } from '../core/settings.ts';

/**
 * TLS 1.3, and TLS 1.2 with ephemeral keys only: without forward secrecy, a stolen key also decrypts recorded connections. Node's
 * default includes suites with RSA key exchange.
 */
const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
].join(':');

/** Used for new servers and for renewed certificates: a new secure context does not inherit the ciphers. */
export function tlsOptionsFor(certificate: CertificatePair) {
  return { ...certificate, ciphers: CIPHERS };
}
