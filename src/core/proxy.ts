/** The configured HTTP proxy for requests to hosts. Pure. */

export interface HttpProxy {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The value of `Proxy-Authorization`; undefined without credentials. */
  readonly authorization: string | undefined;
  /** User and password, for redaction. */
  readonly credentials: readonly string[];
}

/** Parses an address such as `http://user:password@proxy.example:3128`. Undefined if it is malformed. */
export function parseProxy(address: string): HttpProxy | undefined {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined;
  if (url.username === '' && url.password === '') {
    return { origin: url.origin, authorization: undefined, credentials: [] };
  }
  const credentials = [url.username, url.password].map(decoded);
  if (credentials.some((each) => each === undefined)) return undefined;
  const authorization = `Basic ${Buffer.from(credentials.join(':')).toString('base64')}`;
  return { origin: url.origin, authorization, credentials: credentials.filter((each) => each !== '') as string[] };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns the address without its credentials. References to variables remain. */
export function maskedProxy(address: string): string {
  return address.replace(/^(\w+:\/\/)[^/]*@/, '$1…@');
}
