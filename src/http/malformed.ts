/** HTTP that is not sound: found in the headers of a request, or reported by the parser. */
import type { IncomingMessage } from 'node:http';
import type { ClientError } from '../core/errors.ts';

/** The largest block of headers. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** What stands in a header's line beside its name and its value: a colon, a space, CRLF. */
const HEADER_LINE_BYTES = 4;

const HEADERS_TOO_LARGE: ClientError = {
  code: 'invalid_request',
  status: 431,
  message: `The headers are larger than ${MAX_HEADER_BYTES} bytes.`,
  close: true,
};

/** Headers of which two different readers may take different ones. */
const SINGLE_HEADERS = ['host', 'authorization', 'content-length', 'content-type', 'transfer-encoding'] as const;

/** What is wrong with a request's framing or its headers, or undefined. */
export function malformedRequest(request: IncomingMessage): ClientError | undefined {
  const counts = new Map<string, number>();
  let bytes = 0;
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = (request.rawHeaders[i] as string).toLowerCase();
    counts.set(name, (counts.get(name) ?? 0) + 1);
    bytes += name.length + (request.rawHeaders[i + 1] as string).length + HEADER_LINE_BYTES;
  }
  // The parser leaves colons and line ends out of its count.
  if (bytes > MAX_HEADER_BYTES) return HEADERS_TOO_LARGE;
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
      return HEADERS_TOO_LARGE;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'invalid_request', status: 408, message: 'The headers did not come in time.', close: true };
    default:
      return malformed('The request is not sound HTTP.');
  }
}
