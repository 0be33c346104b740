/** The body of an error response in the messages dialect, and the data of its error events. */
import { type ClientError, CONTEXT_LENGTH, statusOf } from '../../core/errors.ts';

/** The dialect's names of HTTP statuses. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  424: 'api_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Returns the name of a status, with a default by class. */
function errorTypeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** Returns the dialect's error body, with the gateway's own code next to the type. */
export function messagesErrorBody(error: ClientError, requestId: string): string {
  const type = errorTypeOf(statusOf(error));
  return JSON.stringify({
    type: 'error',
    error: { type, code: error.code, message: messageOf(error), ...(error.details && { details: error.details }) },
    request_id: requestId,
  });
}

/** Returns the message. Claude Code compacts its conversation when it reads these words. */
function messageOf({ message, requestFault }: ClientError): string {
  if (requestFault?.code !== CONTEXT_LENGTH) return message;
  const { overflow } = requestFault;
  if (overflow === undefined) return 'prompt is too long';
  return `prompt is too long: ${overflow.tokens} tokens > ${overflow.maximum} maximum`;
}
