/** Reasons why an admitted request failed or its answer was cut, recorded in the journal for the operator. */

/** The closed set of reasons. */
export type FailureReason =
  /** There was no connection to the upstream. */
  | 'not_connected'
  /** Connecting failed because the gateway's machine had run out of descriptors, ports or memory. */
  | 'no_socket'
  /** Connecting failed because a file of the gateway's own program could not be loaded. */
  | 'not_loaded'
  | 'first_byte_timeout'
  | 'idle_timeout'
  /** The connection was lost, or the response ended too early. */
  | 'broken'
  /** The upstream rejected the request (429, 503, 529) on the last permitted attempt. */
  | 'rejected'
  /** The upstream answered with another error status. */
  | 'http_status'
  /** The upstream sent an error in a stream. */
  | 'error_event'
  /** The upstream sent an error with status 200. */
  | 'error_answer'
  | 'not_the_protocol'
  /** The stream continued without delivering any more of the answer. */
  | 'no_progress'
  /** Every upstream of the model was backing off, or had an open circuit. */
  | 'no_upstream'
  /** Balance or spend limit did not cover more of the stream. */
  | 'out_of_money'
  /** The answer is complete, but ended at the output maximum that `inf-gw run` added to the request. */
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
  /** The error status of the upstream; undefined if it sent no error status. */
  readonly status: number | undefined;
  /** One short sentence, free of secrets, prompts and upstream text. */
  readonly message: string;
}

/** Returns the grouping key of a failure: the upstream status, `5xx` for all from 500 on, or the reason without a status. */
export function causeOf({ reason, status }: Pick<Failure, 'reason' | 'status'>): string {
  if (status === undefined) return reason;
  return status >= 500 ? '5xx' : String(status);
}
