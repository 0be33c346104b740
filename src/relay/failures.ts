/** Maps upstream failures to client errors, with the part of the upstream's message that clients may read. */
import { isUtf8 } from 'node:buffer';
import type { ClientError } from '../core/errors.ts';
import type { Failure } from '../core/failure.ts';
import { parseJson } from '../core/json.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { errorFacts } from '../dialects/error-facts.ts';
import { type Attempt, type ResponseHead, UpstreamFailure } from '../upstream/attempt.ts';
import { isRejection, parseRetryAfter } from '../upstream/retry.ts';
import { requestFaultIn } from '../wire/request-fault.ts';
import { holdsSecret, type Secrets } from '../wire/secrets.ts';
import {
  isAboutTheOperator,
  readErrorValue,
  retryDelayIn,
  statusIn,
  type UpstreamWords,
  WITHHELD_STATUSES,
  wordsForClients,
} from '../wire/upstream-error.ts';
import type { Meter, Metered } from './meter.ts';
import { NO_WORK, type RelayResult } from './relay.ts';

/** Statuses that report an invalid request. */
const INVALID_REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);
/** Maximum length of an error response that is read. */
const MAX_ERROR_BYTES = 1024 * 1024;

/** Relays a response with an error status. */
export async function relayErrorResponse(
  attempt: Attempt,
  status: number,
  meter: Meter,
  { dialect, secrets }: { readonly dialect: Dialect; readonly secrets: Secrets },
): Promise<RelayResult> {
  const body = await readErrorBody(attempt);
  const value = body && errorIn(body, await attempt.head());
  const error = errorForStatus(status, readErrorValue(value), secrets);
  return {
    metered: body === undefined ? meter.figuresOfPart() : meteredByError(value, dialect, meter),
    unseen: body === undefined ? 'answer' : undefined,
    termination: { kind: 'error', error: status === 429 ? { ...error, ...(await waitOf(attempt, value)) } : error },
    note: `the upstream answered ${status}${HINTS[status] ?? ''}`,
  };
}

/** The value of a JSON error, or the plain text of a server that refuses a body before the host's own code runs. */
function errorIn(body: Buffer, { contentType, isEncoded }: ResponseHead): unknown {
  const text = body.toString('utf8');
  // Secrets cannot be found in other encodings. ASCII in UTF-16 is valid UTF-8, but contains zero bytes.
  const isText = !isEncoded && isUtf8(body) && !body.includes(0);
  const isPlainText = isText && /^\s*text\/plain\b/i.test(contentType);
  return (parseJson(text) ?? (isPlainText ? { value: text } : undefined))?.value;
}

/** The requested wait, from the headers or from the error itself. */
async function waitOf(attempt: Attempt, value: unknown): Promise<Pick<ClientError, 'retryAfterS'>> {
  const { retryAfter = retryDelayIn(value) } = await attempt.head();
  const waitMs = parseRetryAfter(retryAfter, Date.now());
  return waitMs === undefined ? {} : { retryAfterS: Math.ceil(waitMs / 1000) };
}

/** Returns the whole body of an error response; undefined if it is too long. `chunks` is passed to `readAll`. */
export async function readErrorBody(attempt: Attempt, chunks: Buffer[] = []): Promise<Buffer | undefined> {
  const body = await readAll(attempt, MAX_ERROR_BYTES, chunks);
  if (body === undefined) attempt.abort();
  return body;
}

/** Charges a complete error for the work that it reports. An error without such a report proves that the host did no work. */
export function meteredByError(value: unknown, dialect: Dialect, meter: Meter): Metered {
  const facts = errorFacts(value, dialect.readAnswer);
  if (facts === undefined) return NO_WORK;
  meter.readError(facts);
  return meter.figuresOfPart();
}

/** Hints for the operator. The upstream's message is not logged because it may quote the prompt. */
const HINTS: Readonly<Record<number, string>> = {
  401: ': check the api_key of the provider',
  402: ': check the balance at the provider',
  403: ': check what the api_key of the provider may do',
  404: ': check the base_url of the provider and the upstream name of the model',
  429: ': check the rate limits and the quota at the provider',
};

/** Matches codes such as `insufficient_quota`. Prompts, names and keys do not have this form. */
const CODE_WORD = /^[a-z]{1,20}(?:_[a-z]{1,20}){1,4}$/;

/**
 * Returns all bytes of a response, or undefined if there are more than `maximum`. Returns without a promise if the response
 * is complete. Adds every byte read to `chunks`, even if the response is too long or breaks off.
 */
export function readAll(
  attempt: Attempt,
  maximum: number,
  chunks: Buffer[] = [],
): Buffer | undefined | Promise<Buffer | undefined> {
  const whole = attempt.whole();
  if (whole === undefined) return readArriving(attempt, maximum, chunks);
  chunks.push(whole);
  return whole.length > maximum ? undefined : whole;
}

async function readArriving(attempt: Attempt, maximum: number, chunks: Buffer[]): Promise<Buffer | undefined> {
  let length = 0;
  for (let chunk = await attempt.next(); chunk !== undefined; chunk = await attempt.next()) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maximum) return undefined;
  }
  return Buffer.concat(chunks);
}

/**
 * The journal entry of an upstream error. It contains only the upstream's error code, because sentences may quote the prompt.
 */
function failureFor(
  reason: Failure['reason'],
  summary: string,
  status: number | undefined,
  words: UpstreamWords | undefined,
  secrets: Secrets,
): Failure {
  const code = words?.labels.find((label) => CODE_WORD.test(label) && !holdsSecret(label, secrets));
  return { reason, status, message: code === undefined ? summary : `${summary} (${code})` };
}

/** The client error for an upstream response with this status. */
function errorForStatus(status: number, words: UpstreamWords | undefined, secrets: Secrets): ClientError {
  const reason = isRejection(status) ? 'rejected' : 'http_status';
  const failure = failureFor(reason, `upstream ${status}${HINTS[status] ?? ''}`, status, words, secrets);
  const isRequestInvalid = INVALID_REQUEST_STATUSES.has(status) && (words === undefined || !isAboutTheOperator(words));
  const mayPassOn = isRequestInvalid || status === 429 || status >= 500;
  const message = mayPassOn && words !== undefined ? wordsForClients(words, secrets) : undefined;
  if (isRequestInvalid) {
    const generic = `The provider rejected the request with status ${status}.`;
    return { code: 'invalid_request', message: message ?? generic, ...faultIn(words), failure };
  }
  return {
    code: 'upstream_error',
    message: withDetail(`The provider responded with status ${status}`, message),
    // The remaining 400s are about the operator's key or account.
    ...((WITHHELD_STATUSES.has(status) || INVALID_REQUEST_STATUSES.has(status)) && { shouldRetry: false }),
    ...(WITHHELD_STATUSES.has(status) && { operatorFault: status }),
    failure,
  };
}

/** The client error for an error within a response with status 200. */
export function errorForErrorValue(
  value: unknown,
  reason: 'error_event' | 'error_answer',
  secrets: Secrets,
): ClientError {
  const words = readErrorValue(value);
  const status = words && statusIn(words);
  const isWithheld = status !== undefined && WITHHELD_STATUSES.has(status);
  const message = words === undefined || isWithheld ? undefined : wordsForClients(words, secrets);
  const summary = reason === 'error_event' ? 'upstream error in the stream' : 'upstream error with status 200';
  const fault = words === undefined || message === undefined ? {} : faultIn(words);
  const withStatus = status === undefined ? summary : `${summary}, code ${status}${HINTS[status] ?? ''}`;
  const failure = failureFor(reason, withStatus, undefined, words, secrets);
  if (message !== undefined && fault.requestFault !== undefined) {
    return { code: 'invalid_request', message, ...fault, failure };
  }
  return {
    code: 'upstream_error',
    message: withDetail('The provider reported an error', message),
    ...(isWithheld && { shouldRetry: false, operatorFault: status }),
    failure,
  };
}

function faultIn(words: UpstreamWords | undefined): Pick<ClientError, 'requestFault'> {
  const requestFault = words && requestFaultIn(words);
  return requestFault === undefined ? {} : { requestFault };
}

function withDetail(sentence: string, detail: string | undefined): string {
  return detail === undefined ? `${sentence}.` : `${sentence}: ${detail}`;
}

/** The client error for an attempt without a complete response. */
export function errorForFailure({ kind, summary }: UpstreamFailure): ClientError {
  const failure: Failure =
    kind === 'aborted'
      ? { reason: 'shutdown', status: undefined, message: 'the gateway shut down before the request ended' }
      : { reason: kind, status: undefined, message: summary };
  return { code: 'upstream_error', message: FAILURE_MESSAGES[kind], failure };
}

const FAILURE_MESSAGES = {
  not_connected: 'The provider cannot be reached. Try again later, or use another model.',
  no_socket: 'The gateway has no connection left for the provider. Try again later.',
  not_loaded: 'The gateway cannot load what it needs for the provider. Try again later, or use another model.',
  first_byte_timeout: 'The provider did not respond in time. Try again later, or use another model.',
  idle_timeout: 'The provider stopped sending before its response was complete. Try again later, or use another model.',
  broken: 'The connection to the provider was lost. Try again later, or use another model.',
  stopped: 'The gateway operator stopped this request.',
  aborted: 'The gateway is shutting down and could not finish this request. Try again.',
} as const;

/** The client error for a request that is admitted while the process shuts down. */
export const SHUTTING_DOWN = errorForFailure(new UpstreamFailure('aborted', 'stopped before dispatch'));

/** The client error for a request that the operator stopped before dispatch. */
export const STOPPED_HERE = errorForFailure(new UpstreamFailure('stopped', 'stopped before dispatch'));

/** The client error for an upstream response that is not in the format of its dialect. */
export function errorForInvalidResponse({ title }: Dialect, why: string): ClientError {
  return {
    code: 'upstream_error',
    message: `The provider sent a response that is not in the ${title} format.`,
    failure: { reason: 'not_the_protocol', status: undefined, message: why },
  };
}

/** The client error for an answer to a different request. */
export function errorForMismatch(sent: string): ClientError {
  return {
    code: 'upstream_error',
    message: `The provider did not answer what it was asked: it sent ${sent}.`,
    failure: { reason: 'not_the_protocol', status: undefined, message: `the upstream sent ${sent}` },
  };
}

/** The client error for a stream that continues without any progress of the answer. */
export function errorForNoProgress(why: string): ClientError {
  return {
    code: 'upstream_error',
    message: 'The provider kept sending without any more of its response. Try again later, or use another model.',
    failure: { reason: 'no_progress', status: undefined, message: why },
  };
}

/** The client error if no upstream of the model is available; it is sent with `Retry-After`. */
export const NO_UPSTREAM_AVAILABLE: ClientError = {
  code: 'upstream_error',
  message:
    'The provider is temporarily unavailable: it asked clients to back off, or it failed repeatedly. Try again after the time in Retry-After, or use another model.',
  failure: {
    reason: 'no_upstream',
    status: undefined,
    message: 'no upstream is available: circuits are open, or upstreams asked to back off',
  },
};

/** The result of an attempt that failed before anything was sent to the client. */
export function relayFailure(attempt: Attempt, error: unknown, meter: Meter): RelayResult {
  if (!(error instanceof UpstreamFailure)) throw error;
  return {
    metered: attempt.sent ? meter.figuresOfPart() : NO_WORK,
    termination: { kind: 'error', error: errorForFailure(error) },
    note: error.message,
    unseen: attempt.sent ? 'answer' : undefined,
  };
}
