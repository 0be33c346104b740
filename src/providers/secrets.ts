/** What a client must never learn of a host: its credentials, its address and its headers. Pure. */
import type { HttpProxy } from '../core/proxy.ts';
import type { Secrets } from '../wire/secrets.ts';

/** Shorter values are no secrets, and would match in any text. */
const MIN_SECRET_CHARACTERS = 6;
/** Shorter segments of a path would match in any text, even as whole words. */
const MIN_SEGMENT_CHARACTERS = 3;

/**
 * Segments that say what an API is, not whose account is used. Every other segment of a base URL is
 * a secret: account ids and relay tokens look like anything, so neither length nor entropy could
 * tell them from names. These words are excepted because ordinary messages are full of them, and
 * would all be withheld.
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
/** The segment that follows one of these is the name of a model, which its answers contain. */
const BEFORE_MODEL_NAMES: ReadonlySet<string> = new Set(['deployments', 'engines', 'models']);

const NAMES_OF_CREDENTIALS = /auth|key|token|secret|cookie|session|password|signature|^sig$|^code$/i;

/** What the config says of a host, as far as it holds secrets. */
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
  // Ordinary segments in a row are an address, too. A path such as /v1 is also the gateway's own.
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

/** `Bearer x` as `x`. */
function withoutScheme(value: string): string {
  return value.replace(/^(?:basic|bearer|token|apikey|api-key)\s+/i, '');
}

/**
 * True for a credential that no answer contains by chance. Local hosts take words such as `ollama`
 * for a key, and answers may well contain those.
 */
function isUnmistakable(value: string): boolean {
  return value.length >= 16 || (value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value));
}

/** True for ids and tokens; names of models change between letters and digits less often. */
function looksRandom(value: string): boolean {
  const dense = value.replace(/[-_.~%]/g, '');
  const changes = dense.match(/\d(?=[a-z])|[a-z](?=\d)/gi)?.length ?? 0;
  return dense.length >= 16 && !/\s/.test(value) && changes >= 5;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
