/** Headers in the config file, which the gateway adds to its requests. Pure. */

/** Headers of requests that the gateway or its HTTP client sets. */
const OWN_HEADERS = new Set([
  'host',
  'accept',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
  'expect',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
]);

/** What is wrong with the name of a header; undefined if nothing is. */
export function faultOfHeaderName(name: string): string | undefined {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return 'expected the name of an HTTP header';
  return OWN_HEADERS.has(name.toLowerCase()) ? 'this header is set by the gateway' : undefined;
}

/** What is wrong with the value of a header; undefined if nothing is. The value itself may be a secret, so it is not shown. */
export function faultOfHeaderValue(value: string): string | undefined {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return undefined;
  return 'expected a value without line breaks or other characters that an HTTP header cannot contain';
}
