/** Detects malformed HTTP: checks request headers, and maps parser errors to client errors. */
import type { ClientError } from '../core/errors.ts';
import type { HttpRequest, ParserError } from './server.ts';

/** Maximum size of the header block and of the request line, in bytes. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Maximum number of headers. Browsers behind three proxies send about forty. */
export const MAX_HEADERS = 200;
/**
 * Maximum length of a request target with its query: the minimum that RFC 9110 recommends to support, and ten times the length of
 * the longest route.
 */
export const MAX_TARGET_BYTES = 8 * 1024;
/** Overhead of a header line: a colon, a space, CRLF. */
const HEADER_LINE_BYTES = 4;

const EXPECTATION_FAILED: ClientError = {
  code: 'invalid_request',
  status: 417,
  message: 'Unsupported Expect header: only 100-continue is supported.',
};

const HEADERS_TOO_LARGE = closing(431, `The request headers exceed the limit of ${MAX_HEADER_BYTES} bytes.`);
const TOO_MANY_HEADERS = closing(431, `The request has more than ${MAX_HEADERS} headers.`);
const TARGET_TOO_LONG = closing(414, `The request target exceeds the limit of ${MAX_TARGET_BYTES} bytes.`);

/** Headers that must not be repeated, because two readers might pick different values. Each has its own bit. */
const SINGLE_HEADERS: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['content-length', 4],
  ['content-type', 8],
  ['transfer-encoding', 16],
  ['x-inf-gw-user', 32],
]);
/** Skips lowercasing and lookup for names of any other length. */
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE_HEADERS.keys()].map((name) => name.length));

/** A host name, an IPv4 address or a bracketed IPv6 address, with an optional port. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Returns the first problem in a request's framing or headers, or undefined. `knowsExpectation`: its `Expect` is supported. */
export function checkHead(request: HttpRequest, knowsExpectation = true): ClientError | undefined {
  const { rawHeaders, headers, httpVersion, url = '' } = request;
  // The parser also accepts other versions.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return malformed('Only HTTP/1.1 and HTTP/1.0 are supported.');
  if (url.length > MAX_TARGET_BYTES) return TARGET_TOO_LONG;
  if (rawHeaders.length > 2 * MAX_HEADERS) return TOO_MANY_HEADERS;
  const fault = checkLines(rawHeaders) ?? checkHost(headers.host, url, httpVersion) ?? checkFraming(request);
  return fault ?? (knowsExpectation ? undefined : EXPECTATION_FAILED);
}

function checkLines(rawHeaders: readonly string[]): ClientError | undefined {
  let seen = 0;
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    bytes += name.length + (rawHeaders[i + 1] as string).length + HEADER_LINE_BYTES;
    if (!SINGLE_LENGTHS.has(name.length)) continue;
    const bit = SINGLE_HEADERS.get(name.toLowerCase()) ?? 0;
    if ((seen & bit) !== 0) return malformed(`Duplicate header: ${name.toLowerCase()}.`);
    seen |= bit;
  }
  // The parser's limit excludes colons and line ends.
  return bytes > MAX_HEADER_BYTES ? HEADERS_TOO_LARGE : undefined;
}

function checkHost(host: string | undefined, url: string, httpVersion: string): ClientError | undefined {
  if (host === undefined) return httpVersion === '1.0' ? undefined : malformed('Missing header: host.');
  if (!HOST.test(host))
    return malformed('Invalid host header: expected a host name or address, with an optional port.');
  if (url.startsWith('/')) return undefined;
  // One reader might use the host of the target, and the next one the host header.
  const [, scheme, authority] = /^(https?):\/\/([^/?#]*)/i.exec(url) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const defaultPort = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  const differs = withoutPort(authority, defaultPort) !== withoutPort(host, defaultPort);
  return differs ? malformed('The host in the request target does not match the host header.') : undefined;
}

/** Normalizes a host for comparison: lower case, without the default port `port`. */
function withoutPort(host: string, port: string): string {
  return (host.endsWith(port) ? host.slice(0, -port.length) : host).toLowerCase();
}

function checkFraming({ headers, httpVersion }: HttpRequest): ClientError | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return undefined;
  if (encoding.toLowerCase() !== 'chunked') return malformed('Unsupported Transfer-Encoding: expected chunked.');
  // An intermediate HTTP/1.0 proxy may have framed the request without support for the header.
  if (httpVersion === '1.0') return malformed('Transfer-Encoding is not supported in HTTP/1.0.');
  if (headers['content-length'] === undefined) return undefined;
  return malformed('A request cannot have both Transfer-Encoding and Content-Length.');
}

function malformed(message: string): ClientError {
  return { code: 'invalid_request', message, close: true };
}

function closing(status: number, message: string): ClientError {
  return { ...malformed(message), status };
}

const REQUEST_LINE = /^\s*[A-Z-]+ +(\S+)/;

/** Returns the target of the request that begins with these bytes; undefined without a request line. */
export function targetIn(packet: Buffer | undefined): string | undefined {
  return REQUEST_LINE.exec(packet?.toString('latin1', 0, MAX_TARGET_BYTES) ?? '')?.[1];
}

/** Returns the client error for a request that the parser rejected. */
export function errorForParser(error: ParserError): ClientError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return HEADERS_TOO_LARGE;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return closing(413, 'The chunk extensions are too long.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return closing(408, 'Timed out waiting for the request headers.');
    default:
      return malformed(`Malformed HTTP request${faultNamed(error.code)}.`);
  }
}

/**
 * Formats the parser's error name if it describes the fault, such as `HPE_INVALID_CHUNK_SIZE`. Names of parser states are
 * omitted.
 */
function faultNamed(code = ''): string {
  const [, name] = /^HPE_((?:INVALID|UNEXPECTED)_\w+|\w+_EXPECTED)$/.exec(code) ?? [];
  return name === undefined ? '' : `: ${name.toLowerCase().replaceAll('_', ' ')}`;
}
