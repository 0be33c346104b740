/** Failures of upstreams as errors for the client: which status, and which of the upstream's words. */
import type { ClientError } from '../core/errors.ts';
import { type Attempt, type FailureKind, UpstreamFailure } from '../upstream/attempt.ts';
import {
  isAboutTheOperator,
  readErrorBody,
  readErrorValue,
  type UpstreamWords,
  wordsForClients,
} from '../wire/upstream-error.ts';
import type { Meter } from './meter.ts';
import { NO_WORK, type RelayResult } from './relay.ts';

/** The statuses with which a host says that the request itself is wrong. */
const REQUEST_FAULTS: ReadonlySet<number> = new Set([400, 413, 422]);
/** An error answer longer than this is not read to its end. */
const MAX_ERROR_BYTES = 1024 * 1024;

/** Reads an upstream's answer that is no success. Complete, it proves that no work was done. */
export async function relayErrorAnswer(
  attempt: Attempt,
  status: number,
  meter: Meter,
  secrets: readonly string[],
): Promise<RelayResult> {
  const body = await readAll(attempt, MAX_ERROR_BYTES);
  if (body === undefined) attempt.abort();
  const words = body === undefined ? undefined : readErrorBody(body.toString('utf8'));
  return {
    metered: body === undefined ? meter.figures() : NO_WORK,
    termination: { kind: 'error', error: errorForStatus(status, words, secrets) },
    note: `the upstream answered ${status}${HINTS[status] ?? ''}`,
  };
}

/** For the operator. What the upstream said is not logged: it may quote the prompt. */
const HINTS: Readonly<Record<number, string>> = {
  401: ': check the api_key of the provider',
  403: ': check what the api_key of the provider may do',
  404: ': check the base_url of the provider and the upstream name of the model',
};

/** All bytes of an answer, or undefined where there are more than `maximum`. */
export async function readAll(attempt: Attempt, maximum: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (let chunk = await attempt.next(); chunk !== undefined; chunk = await attempt.next()) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maximum) return undefined;
  }
  return Buffer.concat(chunks);
}

/** What a client is told when the upstream answered with this status. */
function errorForStatus(status: number, words: UpstreamWords | undefined, secrets: readonly string[]): ClientError {
  const isRequestFault = REQUEST_FAULTS.has(status) && (words === undefined || !isAboutTheOperator(words));
  const mayPassOn = isRequestFault || status === 429 || status >= 500;
  const message = mayPassOn && words !== undefined ? wordsForClients(words, secrets) : undefined;
  if (isRequestFault) {
    return { code: 'invalid_request', message: message ?? `The provider refused the request with status ${status}.` };
  }
  const said = message === undefined ? '.' : `: ${message}`;
  return { code: 'upstream_error', message: `The provider of the model answered with status ${status}${said}` };
}

/** What a client is told of an error that stands within an answer of status 200. */
export function errorWithin(value: unknown, secrets: readonly string[]): ClientError {
  const words = readErrorValue(value);
  const mayPassOn = words !== undefined && !words.labels.some((label) => WITHHELD.has(label));
  const message = mayPassOn ? wordsForClients(words, secrets) : undefined;
  const said = message === undefined ? '.' : `: ${message}`;
  return { code: 'upstream_error', message: `The provider of the model reported an error${said}` };
}

/** The words of an upstream are withheld with these, also where they come as the code of an error. */
const WITHHELD: ReadonlySet<string> = new Set(['401', '403', '404']);

/** What a client is told when no complete answer came. */
export function errorForFailure(kind: FailureKind): ClientError {
  return { code: 'upstream_error', message: FAILURE_MESSAGES[kind] };
}

const FAILURE_MESSAGES = {
  not_connected: 'The provider of the model cannot be reached. Try again later, or use another model.',
  first_byte_timeout: 'The provider of the model did not answer in time. Try again later, or use another model.',
  idle_timeout: 'The provider of the model stopped in the middle of its answer. Try again later, or use another model.',
  broken: 'The connection to the provider of the model broke off. Try again later, or use another model.',
  stopped: 'The operator of the gateway has stopped this request.',
  aborted: 'The gateway is shutting down and could not finish this request. Try again.',
} as const;

/** What a client is told of an answer that is not in the chat-completions format. */
export const NOT_THE_PROTOCOL: ClientError = {
  code: 'upstream_error',
  message: 'The provider of the model sent an answer that is not in the chat-completions format.',
};

/** What a client is told where no upstream of the model may be asked; it comes with `Retry-After`. */
export const NO_UPSTREAM_AVAILABLE: ClientError = {
  code: 'upstream_error',
  message:
    'The provider of the model has asked for a pause, or has failed too often, so it is not asked at the moment. Try again after the seconds in Retry-After, or use another model.',
};

/** The end of a request whose attempt failed before anything was sent to the client. */
export function relayFailure(attempt: Attempt, error: unknown, meter: Meter): RelayResult {
  if (!(error instanceof UpstreamFailure)) throw error;
  return {
    metered: attempt.sent ? meter.figures() : NO_WORK,
    termination: { kind: 'error', error: errorForFailure(error.kind) },
    note: error.message,
  };
}
