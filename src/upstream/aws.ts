/**
 * Wraps Amazon's own packages: credentials, signatures, and frames. They are large, so this module must be imported only when
 * a request needs it.
 */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { SignatureV4 } from '@smithy/signature-v4';
import { awsCredentials, type CredentialOptions } from './aws-credentials.ts';
import type { DecodeFrame } from './frames.ts';

/** A request to be signed. Its path is encoded. */
interface Signable {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** Returns the authentication headers of a request. Rejects without credentials. */
export type Sign = (request: Signable) => Promise<Record<string, string>>;

/** `service`: its name in signatures. */
export function signerOf(service: string, options: CredentialOptions): Sign {
  const { region } = options;
  const kept = awsCredentials(options);
  const signer = new SignatureV4({ credentials: () => kept.current(), region, service, sha256: Sha256 });
  return async ({ method, url, contentType, body }) => {
    const { headers } = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { host: url.host, ...(contentType !== undefined && { 'content-type': contentType }) },
      body,
    });
    return headers;
  };
}

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
  (text) => Buffer.from(text),
);

export const decodeFrame: DecodeFrame = (frame) => codec.decode(frame);

/** Node's hash with the interface that the packages require. */
class Sha256 {
  readonly #secret: Parameters<typeof createHmac>[1] | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined ? undefined : bytesOf(secret);
    this.#hash = this.#begin();
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
