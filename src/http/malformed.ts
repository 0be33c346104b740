/** HTTP that is not sound: found in the head of a request, or reported by the parser. */
import type { IncomingMessage } from 'node:http';
import type { ClientError } from '../core/errors.ts';

/** The largest block of headers, and with it the longest head of a request. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** The most headers. Browsers behind three proxies send some forty. */
export const MAX_HEADERS = 200;
/** The longest target, its query with it: what HTTP recommends to take at the least, and ten times what any of ours needs. */
export const MAX_TARGET_BYTES = 8 * 1024;
/** What stands in a header's line beside its name and its value: a colon, a space, CRLF. */
const HEADER_LINE_BYTES = 4;

const HEADERS_TOO_LARGE = closing(431, `The headers are larger than ${MAX_HEADER_BYTES} bytes.`);
const TOO_MANY_HEADERS = closing(431, `There are more than ${MAX_HEADERS} headers.`);
const TARGET_TOO_LONG = closing(414, `The address is longer than ${MAX_TARGET_BYTES} bytes.`);

/** Headers of which two different readers may take different ones; each with a bit of its own. */
const SINGLE_HEADERS: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['content-length', 4],
  ['content-type', 8],
  ['transfer-encoding', 16],
]);
/** Names of other lengths need no closer look. */
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE_HEADERS.keys()].map((name) => name.length));

/** A host name, an IPv4 address, or an IPv6 address in brackets; then a port, or none. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** What is wrong with a request's framing or its headers, or undefined. */
export function checkHead(request: IncomingMessage): ClientError | undefined {
  const { rawHeaders, headers, httpVersion, url = '' } = request;
  // The parser takes these, too.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return malformed('Only HTTP/1.1 and HTTP/1.0 are understood.');
  if (url.length > MAX_TARGET_BYTES) return TARGET_TOO_LONG;
  if (rawHeaders.length > 2 * MAX_HEADERS) return TOO_MANY_HEADERS;
  return faultOfLines(rawHeaders) ?? faultOfHost(headers.host, url, httpVersion) ?? faultOfFraming(request);
}

function faultOfLines(rawHeaders: readonly string[]): ClientError | undefined {
  let seen = 0;
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    bytes += name.length + (rawHeaders[i + 1] as string).length + HEADER_LINE_BYTES;
    if (!SINGLE_LENGTHS.has(name.length)) continue;
    const bit = SINGLE_HEADERS.get(name.toLowerCase()) ?? 0;
    if ((seen & bit) !== 0) return malformed(`The header ${name.toLowerCase()} stands in the request more than once.`);
    seen |= bit;
  }
  // The parser leaves colons and line ends out of its count.
  return bytes > MAX_HEADER_BYTES ? HEADERS_TOO_LARGE : undefined;
}

function faultOfHost(host: string | undefined, url: string, httpVersion: string): ClientError | undefined {
  if (host === undefined) return httpVersion === '1.0' ? undefined : malformed('The header host is missing.');
  if (!HOST.test(host)) return malformed('The header host is no name or address of a host.');
  if (url.startsWith('/')) return undefined;
  // One reader may go by the one and the next by the other.
  const [, scheme, authority] = /^(https?):\/\/([^/?#]*)/i.exec(url) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const defaultPort = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  const differs = withoutPort(authority, defaultPort) !== withoutPort(host, defaultPort);
  return differs ? malformed('The address names another host than the header host.') : undefined;
}

/** A host as it is compared with another: without that port, which means the same as none. */
function withoutPort(host: string, port: string): string {
  return (host.endsWith(port) ? host.slice(0, -port.length) : host).toLowerCase();
}

function faultOfFraming({ headers, httpVersion }: IncomingMessage): ClientError | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return undefined;
  if (encoding.toLowerCase() !== 'chunked') return malformed('Transfer-Encoding: only chunked is understood.');
  // What came over an old proxy may have been framed by someone who did not know of it.
  if (httpVersion === '1.0') return malformed('Transfer-Encoding: HTTP/1.0 has none.');
  if (headers['content-length'] === undefined) return undefined;
  return malformed('Transfer-Encoding and Content-Length exclude each other.');
}

function malformed(message: string): ClientError {
  return { code: 'invalid_request', message, close: true };
}

function closing(status: number, message: string): ClientError {
  return { ...malformed(message), status };
}

/** What a client is told when the parser gives its request up. */
export function errorForParser(error: NodeJS.ErrnoException): ClientError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return HEADERS_TOO_LARGE;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return closing(413, 'The extensions of a chunk are too long.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return closing(408, 'The headers did not come in time.');
    default:
      return malformed('The request is not sound HTTP.');
  }
}
