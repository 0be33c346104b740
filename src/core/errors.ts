/** The error catalogue: every code that a client can read, with its status. */

/**
 * The closed set of codes and their usual HTTP statuses. `invalid_request` also comes with 404 (no such path), 405,
 * 408, 413, 414, 417 and 431, where HTTP has a status of its own for what is wrong.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  invalid_api_key: 401,
  insufficient_credit: 402,
  spend_limit_reached: 402,
  api_key_disabled: 403,
  model_not_allowed: 403,
  model_not_found: 404,
  rate_limited: 429,
  upstream_error: 502,
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** What a client is told when its request fails. The message never holds a secret, an address or a stack. */
export interface ClientError {
  readonly code: ErrorCode;
  readonly message: string;
  /** HTTP status, where it is not the usual one of the code. */
  readonly status?: number;
  /** Seconds for `Retry-After`. */
  readonly retryAfterS?: number;
  /** False forbids the official clients to try again by themselves. */
  readonly shouldRetry?: false;
  /** For `Allow`, with 405. */
  readonly allow?: string;
  /** The connection cannot be used any further. */
  readonly close?: true;
}

/** The status line's number for an error. */
export function statusOf(error: ClientError): number {
  return error.status ?? ERROR_STATUS[error.code];
}

/** The body of an error answer, and of an error event in a stream: exactly two fields. */
export function errorBody(error: ClientError): string {
  return JSON.stringify({ error: { code: error.code, message: error.message } });
}

/** A fault of the gateway itself, before a request was forwarded. The details belong in the log. */
export const NOT_FORWARDED: ClientError = {
  code: 'internal_error',
  message: 'The gateway could not take this request. It was not forwarded; the log of the gateway says why.',
};

/** A fault of the gateway itself, when the provider may have begun to work. */
export const FAILED_AFTER_DISPATCH: ClientError = {
  code: 'internal_error',
  message: 'The gateway failed while it answered. The provider may have worked on the request, and it may be charged.',
  shouldRetry: false,
};

/** A 429 whose message says how long to wait. */
export function rateLimited(message: string, retryAfterS: number): ClientError {
  return { code: 'rate_limited', message: `${message} Try again in ${retryAfterS} s.`, retryAfterS };
}

/** A fault that a person can mend: its message is shown as it stands, without a stack. */
export class UserError extends Error {
  /** Each line says what was wrong, where, and what to do. */
  readonly lines: readonly string[];
  constructor(lines: string | readonly string[]) {
    const list = typeof lines === 'string' ? [lines] : lines;
    super(list.join('\n'));
    this.name = 'UserError';
    this.lines = list;
  }
}
