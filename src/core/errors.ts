/**
 * Errors: every code that a client can receive, with its HTTP status, and errors for the user of
 * the command line.
 */

import type { Failure } from './failure.ts';

/**
 * The closed set of codes and their usual HTTP statuses. `invalid_request` also comes with 404 (no
 * such path), 405, 408, 413, 414, 417, 424, 426 and 431, where HTTP has a more precise status.
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

/** The input exceeds the context window of the model. */
export const CONTEXT_LENGTH = 'context_length_exceeded';

/** A fault of the request that its host has found. */
export interface RequestFault {
  /** A code of OpenAI's API, such as `context_length_exceeded` or `invalid_prompt`. */
  readonly code: string;
  /** The tokens of an input beyond the context window, and its maximum, where the host states both. */
  readonly overflow?: { readonly tokens: number; readonly maximum: number };
}

/**
 * The error that a client receives. The message never contains a secret, an address or a stack
 * trace.
 */
export interface ClientError {
  readonly code: ErrorCode;
  readonly message: string;
  /** The HTTP status, if it is not the usual one of the code. */
  readonly status?: number;
  /** The value of `Retry-After`, in seconds. */
  readonly retryAfterS?: number;
  /** False keeps the official client libraries from retrying. */
  readonly shouldRetry?: false;
  /** The value of `Allow`, with 405. */
  readonly allow?: string;
  /** The value of `Upgrade`, with 426. */
  readonly upgrade?: string;
  /** The status (401, 403 or 404) with which a host refused the gateway's own key or model: only the operator can help. */
  readonly operatorFault?: number;
  /** The fault of the request. Each dialect words it in its own way. */
  readonly requestFault?: RequestFault;
  /** The connection closes after this response. */
  readonly close?: true;
  /** Details for client libraries, sent in dialects that have a field for them. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** For the journal: why an admitted request failed. Never sent. */
  readonly failure?: Failure;
}

/** The HTTP status of an error. */
export function statusOf(error: ClientError): number {
  return error.status ?? ERROR_STATUS[error.code];
}

/** Statuses that only an operator can resolve, by changing the key. Agents have retried such errors for minutes. */
const FOR_PEOPLE: ReadonlySet<number> = new Set([401, 402, 403]);

/** Reports whether a retry may help, for clients without a rule of their own. */
export function mayRetry(error: ClientError): boolean {
  return error.shouldRetry !== false && !FOR_PEOPLE.has(statusOf(error));
}

/**
 * The body of an error response and the data of a stream's error event: exactly two fields. Agents search for the code of a full
 * context. It is appended to the message, since `code` is a closed set.
 */
export function errorBody({ code, message, requestFault }: ClientError): string {
  const isFull = requestFault?.code === CONTEXT_LENGTH && !message.includes(CONTEXT_LENGTH);
  return JSON.stringify({ error: { code, message: isFull ? `${message} (${CONTEXT_LENGTH})` : message } });
}

/** An internal error before the request was sent upstream. The details are in the log only. */
export const NOT_FORWARDED: ClientError = {
  code: 'internal_error',
  message: 'Internal error. The request was not sent to a provider. The gateway log has the details.',
};

/** An internal error after the request was sent upstream. */
export const FAILED_AFTER_DISPATCH: ClientError = {
  code: 'internal_error',
  message: 'Internal error. The request was sent to the provider, may have been processed, and may be charged.',
  shouldRetry: false,
  failure: { reason: 'internal_error', status: undefined, message: 'internal error; the gateway log has the details' },
};

/** A 429 error whose message says how long to wait. */
export function rateLimited(message: string, retryAfterS: number): ClientError {
  return { code: 'rate_limited', message: `${message} Try again in ${retryAfterS} s.`, retryAfterS };
}

/** An error that the user can fix. Its message is shown as it is, without a stack trace. */
export class UserError extends Error {
  /** Each line states the problem, the location and the next step. */
  readonly lines: readonly string[];
  constructor(lines: string | readonly string[]) {
    const list = typeof lines === 'string' ? [lines] : lines;
    super(list.join('\n'));
    this.name = 'UserError';
    this.lines = list;
  }
}
