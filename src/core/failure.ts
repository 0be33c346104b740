/** Why an admitted request failed or its answer was cut, as the journal keeps it for the operator. */

/** The closed set of reasons. */
export type FailureReason =
  /** There was no connection to the upstream. */
  | 'not_connected'
  /** There was none because the gateway's own machine had run out of descriptors, ports or memory. */
  | 'no_socket'
  /** There was none because a file of the gateway's own program could not be loaded. */
  | 'not_loaded'
  | 'first_byte_timeout'
  | 'idle_timeout'
  /** The connection was lost, or the response ended too early. */
  | 'broken'
  /** The upstream did not take the request (429, 503, 529), and no other attempt was left. */
  | 'rejected'
  /** The upstream answered with another error status. */
  | 'http_status'
  /** The upstream sent an error in a stream. */
  | 'error_event'
  /** The upstream sent an error with status 200. */
  | 'error_answer'
  | 'not_the_protocol'
  /** The stream went on without anything of the answer. */
  | 'no_progress'
  /** Every upstream of the model was backing off, or had an open circuit. */
  | 'no_upstream'
  /** Balance or spend limit left nothing for more of a stream. */
  | 'out_of_money'
  /** The answer is complete, but ended at the maximum that the leash of `inf-gw run` wrote into the request. */
  | 'leash_maximum'
  /** An operator stopped the request. */
  | 'stopped'
  /** The gateway shut down before the request ended. */
  | 'shutdown'
  /** The process ended before the request did. */
  | 'interrupted'
  | 'internal_error';

export interface Failure {
  readonly reason: FailureReason;
  /** The error status of the upstream. Undefined if it did not answer with one. */
  readonly status: number | undefined;
  /** One short sentence. Contains no secret, no prompt, and none of the upstream's sentences. */
  readonly message: string;
}

/**
 * What groups failures of the same cause: the status of the upstream, `5xx` for all from 500 on, or
 * the reason where there was no status.
 */
export function causeOf({ reason, status }: Pick<Failure, 'reason' | 'status'>): string {
  if (status === undefined) return reason;
  return status >= 500 ? '5xx' : String(status);
}
