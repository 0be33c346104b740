/** The body of an error response in Google's dialects, and the data of its error events. */
import { type ClientError, CONTEXT_LENGTH, statusOf } from '../../core/errors.ts';

/** The dialects' names of HTTP statuses. */
const STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  424: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
};

const TYPES = 'type.googleapis.com/google.rpc';

/** Returns the name of a status, with a default by class. */
function statusNameOf(status: number): string {
  return STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
}

/** Returns an error body. Its details contain the gateway's own code and the retry delay. */
export function geminiErrorBody(error: ClientError, requestId: string): string {
  const code = statusOf(error);
  const { retryAfterS } = error;
  const message = messageOf(error);
  const details = [
    {
      '@type': `${TYPES}.ErrorInfo`,
      reason: error.code.toUpperCase(),
      domain: 'inf-gw',
      metadata: { code: error.code, request_id: requestId },
    },
    ...(retryAfterS === undefined ? [] : [{ '@type': `${TYPES}.RetryInfo`, retryDelay: `${retryAfterS}s` }]),
  ];
  return JSON.stringify({ error: { code, message, status: statusNameOf(code), details } });
}

/** Returns the message. For an input beyond the context window it uses the wording of Google's hosts. */
function messageOf({ message, requestFault }: ClientError): string {
  if (requestFault?.code !== CONTEXT_LENGTH) return message;
  const { overflow } = requestFault;
  if (overflow === undefined) return 'The input token count exceeds the maximum number of tokens allowed.';
  return `The input token count (${overflow.tokens}) exceeds the maximum number of tokens allowed (${overflow.maximum}).`;
}
