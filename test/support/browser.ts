/** What a browser makes of answers to a page of another origin, by the rules of the Fetch standard. */

/** Headers that a page may send to any origin, without asking. */
const SAFE_TO_SEND = new Set(['accept', 'accept-language', 'content-language', 'range']);
/** Headers that a page may read of any answer. */
const SAFE_TO_READ = ['cache-control', 'content-language', 'content-length', 'content-type', 'expires', 'pragma'];

/**
 * The names of the headers that a page of this origin may read, in lower case; undefined if the
 * browser withholds the whole answer. The request has no credentials of the browser's own.
 */
export function browserReads(headers: Headers, origin: string): string[] | undefined {
  const allowed = headers.get('access-control-allow-origin');
  if (allowed !== '*' && allowed !== origin) return undefined;
  const exposed = namesIn(headers.get('access-control-expose-headers'));
  return [...headers.keys()].filter((name) => SAFE_TO_READ.includes(name) || exposed.includes(name));
}

/** Why a browser does not send a request after this answer to its preflight; empty if it does. */
export function preflightAllows(
  preflight: { readonly status: number; readonly headers: Headers },
  origin: string,
  request: Request,
): string[] {
  const { status, headers } = preflight;
  const problems: string[] = [];
  if (status < 200 || status > 299) problems.push(`status ${status}`);
  if (browserReads(headers, origin) === undefined) problems.push('origin');
  const methods = headers.get('access-control-allow-methods')?.split(/, */) ?? [];
  if (!['GET', 'HEAD', 'POST', ...methods].includes(request.method)) problems.push(request.method);
  const allowed = namesIn(headers.get('access-control-allow-headers'));
  const sent = [...request.headers.keys()].filter((name) => !SAFE_TO_SEND.has(name));
  return [...problems, ...sent.filter((name) => !allowed.includes(name))];
}

function namesIn(list: string | null): string[] {
  return (list ?? '').toLowerCase().split(/, */);
}
