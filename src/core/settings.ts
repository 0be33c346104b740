/** Settings that several rooms share, named as in the config. */

/** Timeouts of a request to an upstream, in milliseconds. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** Until the response headers arrive. */
  readonly firstByteMs: number;
  /** Between two bytes of the response. */
  readonly idleMs: number;
}

/** All timeouts of the config, in milliseconds. */
export interface Timeouts extends UpstreamTimeouts {
  /** For a client to send its headers, and between two pieces of its body. */
  readonly requestMs: number;
  /** For requests in flight to finish at shutdown. */
  readonly drainMs: number;
}

/** The certificate chain and private key of a TLS server, in PEM. */
export interface CertificatePair {
  /** The server's certificate, followed by its issuers. */
  readonly cert: string;
  readonly key: string;
}

/** When a request may be retried. */
export interface RetryPolicy {
  /** Maximum attempts per request, including the first. */
  readonly attempts: number;
  /** Retries as a share of all requests: 0.2 allows one for every five. 0 forbids them. */
  readonly budget: number;
}

/** Guarantee of a commit: `full` survives a power failure, `crash` only a crash of the process. */
export type Durability = 'full' | 'crash';
