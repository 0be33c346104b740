/** Builds HTTP requests to hosts: URL, headers and body. Pure. */
import type { AuthScheme, DialectName } from '../core/dialects.ts';
import type { HttpProxy } from '../core/proxy.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Secrets } from '../wire/secrets.ts';
import { secretsOf } from './secrets.ts';

/** A host as set in the config. */
export interface Host {
  /** The provider kind in the config. */
  readonly kind?: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly auth: AuthScheme;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streams request usage with `stream_options`. */
  readonly streamUsage: boolean;
  /** AWS region, for Amazon Bedrock. */
  readonly region?: string | undefined;
  /** Google Cloud project, for Vertex AI. */
  readonly project?: string | undefined;
  /** Proxy for requests to the host. */
  readonly proxy?: HttpProxy | undefined;
}

/** Address and headers of requests. */
export interface Endpoint {
  readonly origin: string;
  /** Path of the base URL without a trailing slash. It may contain `MODEL_IN_PATH`. */
  readonly path: string;
  /** Query of the base URL with its question mark, such as Azure's `api-version`. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  /** Whether the host is OpenAI or Azure OpenAI. */
  readonly isOpenai: boolean;
  readonly streamUsage: boolean;
}

/** A request without authentication. */
export interface OutgoingCall {
  readonly request: ModelRequest;
  /** The host's name of the model. */
  readonly model: string;
  readonly capTokens: number | undefined;
  readonly isTranslated: boolean;
  /** Forwarded client headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The serialized request. */
export interface OutgoingRequest {
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function endpointOf(host: Host, userAgent: string): Endpoint {
  const url = new URL(host.baseUrl);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    // A compressed response could be a decompression bomb, and could not be relayed byte by byte.
    'accept-encoding': 'identity',
    'user-agent': userAgent,
  };
  if (host.apiKey !== undefined) {
    if (host.auth === 'bearer') headers.authorization = `Bearer ${host.apiKey}`;
    else headers[host.auth] = host.apiKey;
  }
  return {
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, ''),
    query: url.search,
    headers: { ...headers, ...host.headers },
    secrets: secretsOf(host),
    // The kind identifies Azure hosts with custom domains.
    isOpenai:
      host.kind === 'azure' || /(?:^|\.)(?:openai\.com|(?:openai|cognitiveservices)\.azure\.com)$/.test(url.hostname),
    streamUsage: host.streamUsage,
  };
}

/** `{model}` in a base URL's path, as encoded by the URL parser. Azure has one path per deployment. */
const MODEL_IN_PATH = '%7Bmodel%7D';

/** Returns path and query of a request. `model`: the host's name of the model. */
export function pathFor({ path, query }: Endpoint, request: ModelRequest, model: string): string {
  const { dialect } = request;
  const below = dialect.pathFor?.(request, model) ?? dialect.path;
  const base = path.replace(MODEL_IN_PATH, () => encodeURIComponent(model));
  return `${base}${below}${below.includes('?') ? query.replace('?', '&') : query}`;
}

/** Default headers that hosts require. */
export const DEFAULT_HEADERS: Partial<Record<DialectName, Readonly<Record<string, string>>>> = {
  messages: { 'anthropic-version': '2023-06-01' },
};

/** Returns the headers of a request. `client`: the forwarded client headers. */
export function headersFor(
  endpoint: Endpoint,
  { dialect, stream }: ModelRequest,
  client: Readonly<Record<string, string>>,
): Record<string, string> {
  const accept = stream ? 'text/event-stream' : dialect.readBytes === undefined ? 'application/json' : '*/*';
  return { ...DEFAULT_HEADERS[dialect.name], ...client, ...endpoint.headers, accept };
}

/**
 * Returns the body for the upstream: with its model name, a request for usage, and an output limit if the body has none that the
 * host reads. `isTranslated`: the client uses another dialect.
 */
export function bodyFor(
  { streamUsage, isOpenai }: Endpoint,
  request: ModelRequest,
  upstreamModel: string,
  capTokens: number | undefined,
  isTranslated: boolean,
): string {
  const { dialect, body, maxOutput } = request;
  const read = isOpenai && dialect.name === 'chat' ? MAXIMA_OF_OPENAI : [dialect.maximumField];
  const [field] = read;
  // In a client's own body any field that the host reads counts. A translated body must use the preferred field.
  const binding = isTranslated ? [field] : read;
  const isDeclared = binding.some((name) => name !== undefined && typeof body.fields[name] === 'number');
  const tokens = (isTranslated ? maxOutput : undefined) ?? capTokens;
  return dialect.edit(request, {
    model: upstreamModel,
    askForUsage: request.stream && streamUsage,
    cap: isDeclared || field === undefined || tokens === undefined ? undefined : { field, tokens },
  });
}

/** OpenAI's reasoning models reject `max_tokens` free of charge. Most other hosts accept only `max_tokens`. */
const MAXIMA_OF_OPENAI = ['max_completion_tokens', 'max_tokens'];
