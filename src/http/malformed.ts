/** HTTP that is not sound: found in the headers of a request, or reported by the parser. */
import type { IncomingMessage } from 'node:http';
import type { ClientError } from '../core/errors.ts';

/** Headers of which two different readers may take different ones. */
const SINGLE_HEADERS = ['host', 'authorization', 'content-length', 'content-type', 'transfer-encoding'] as const;

/** What is wrong with a request's framing or its headers, or undefined. */
export function malformedRequest(request: IncomingMessage): ClientError | undefined {
  const counts = new Map<string, number>();
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = (request.rawHeaders[i] as string).toLowerCase();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const doubled = SINGLE_HEADERS.find((name) => (counts.get(name) ?? 0) > 1);
  if (doubled !== undefined) return malformed(`The header ${doubled} stands in the request more than once.`);
  if (request.httpVersion !== '1.0' && !counts.has('host')) return malformed('The header host is missing.');
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return malformed('Transfer-Encoding: only chunked is understood.');
  }
  if (encoding !== undefined && counts.has('content-length')) {
    return malformed('Transfer-Encoding and Content-Length exclude each other.');
  }
  return undefined;
}

function malformed(message: string): ClientError {
  return { code: 'invalid_request', message, close: true };
}

/** What a client is told when the parser gives its request up. */
export function parserFault(error: NodeJS.ErrnoException): ClientError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'invalid_request', status: 431, message: 'The headers are larger than 16 KB.', close: true };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'invalid_request', status: 408, message: 'The headers did not come in time.', close: true };
    default:
      return malformed('The request is not sound HTTP.');
  }
}
