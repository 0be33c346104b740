/** Collects the secrets of a host that no client may see: credentials, address and headers. Pure. */
import type { HttpProxy } from '../core/proxy.ts';
import type { Secrets } from '../wire/secrets.ts';

/** Minimum length of a secret. Shorter values would match in arbitrary text. */
const MIN_SECRET_CHARACTERS = 6;
/** Minimum length of a path segment. Shorter ones would match in arbitrary text, even as whole words. */
const MIN_SEGMENT_CHARACTERS = 3;

/**
 * Common path segments of APIs. All other segments of a base URL are treated as secret, because account ids and relay tokens
 * cannot be told from names by length or entropy. The words in this list are exempt: they are frequent in ordinary messages,
 * which would all be withheld.
 */
const ORDINARY_SEGMENTS: ReadonlySet<string> = new Set(
  `account accounts ai api apis azure base beta chat compat compatible-mode completion completions default
  deployment deployments endpoint endpoints engine engines error errors function functions gateway global google
  inference internal language llm llms location locations message messages ml model models openai openapi
  organization organizations paas project projects prompt prompts proxy public publishers relay request requests
  response responses rest server serverless service services serving serving-endpoints stable team teams text token
  tokens tool tools user users %7bmodel%7d`.split(/\s+/),
);
const VERSION = /^v\d+(?:\.\d+)?(?:alpha|beta|preview)?\d*$/i;
/** Segments followed by a model name, which may appear in responses. */
const BEFORE_MODEL_NAMES: ReadonlySet<string> = new Set(['deployments', 'engines', 'models']);

const NAMES_OF_CREDENTIALS = /auth|key|token|secret|cookie|session|password|signature|^sig$|^code$/i;

/** Config fields of a host that may contain secrets. */
interface HostAccess {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly proxy?: HttpProxy | undefined;
}

export function secretsOf({ apiKey = '', baseUrl, headers, proxy }: HostAccess): Secrets {
  const url = new URL(baseUrl);
  const path = secretsOfPath(url.pathname);
  const named = [...url.searchParams, ...Object.entries(headers)];
  const values = named.flatMap(([, value]) => [value, withoutScheme(value)]);
  const parts = [apiKey, url.host, url.hostname, ...values, ...path.parts, ...addressOf(proxy)];
  const credentials = named
    .map(([name, value]) => ({ value: withoutScheme(value), isNamed: NAMES_OF_CREDENTIALS.test(name) }))
    .filter(({ value, isNamed }) => (isNamed ? isUnmistakable(value) : looksRandom(value)))
    .map(({ value }) => value);
  return {
    parts: unique(parts.filter(({ length }) => length >= MIN_SECRET_CHARACTERS)),
    words: unique(path.words),
    credentials: unique([
      ...[apiKey, ...(proxy?.credentials ?? [])].filter(isUnmistakable),
      ...credentials,
      ...path.credentials,
    ]),
  };
}

function addressOf(proxy: HttpProxy | undefined): readonly string[] {
  if (proxy === undefined) return [];
  const { host, hostname } = new URL(proxy.origin);
  return [host, hostname, ...proxy.credentials];
}

function secretsOfPath(pathname: string): Secrets {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  const own = segments.filter((segment) => !ORDINARY_SEGMENTS.has(segment.toLowerCase()) && !VERSION.test(segment));
  const forms = own.flatMap((segment) => [segment, decoded(segment)]);
  // A sequence of common segments also reveals the address. A single one, such as /v1, is also the gateway's path.
  const paths = segments.length > 1 ? [`/${segments.join('/')}`, `/${segments.map(decoded).join('/')}`] : [];
  const short = forms.filter(({ length }) => length >= MIN_SEGMENT_CHARACTERS && length < MIN_SECRET_CHARACTERS);
  const credentials = segments.filter(
    (segment, i) => looksRandom(segment) && !BEFORE_MODEL_NAMES.has(segments[i - 1]?.toLowerCase() ?? ''),
  );
  return { parts: forms, words: [...short, ...paths], credentials };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns `x` for `Bearer x`. */
function withoutScheme(value: string): string {
  return value.replace(/^(?:basic|bearer|token|apikey|api-key)\s+/i, '');
}

/**
 * Whether a credential is too long to occur in responses by chance. Keys of local hosts, such as `ollama`, are ordinary words.
 */
function isUnmistakable(value: string): boolean {
  return value.length >= 16 || (value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value));
}

/** Recognizes ids and tokens by frequent changes between letters and digits. Model names have fewer changes. */
function looksRandom(value: string): boolean {
  const dense = value.replace(/[-_.~%]/g, '');
  const changes = dense.match(/\d(?=[a-z])|[a-z](?=\d)/gi)?.length ?? 0;
  return dense.length >= 16 && !/\s/.test(value) && changes >= 5;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
