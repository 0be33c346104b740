/** What requests to a host over HTTP look like: where they go, their headers and their bodies. Pure. */
import type { AuthScheme, DialectName } from '../core/dialects.ts';
import type { HttpProxy } from '../core/proxy.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Secrets } from '../wire/secrets.ts';
import { secretsOf } from './secrets.ts';

/** A host as set in the config. */
export interface Host {
  /** As the config calls it. */
  readonly kind?: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly auth: AuthScheme;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streams ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
  /** Of a host of Amazon Bedrock. */
  readonly region?: string | undefined;
  /** Of a host of Google's Vertex AI. */
  readonly project?: string | undefined;
  /** The proxy that requests to it go through. */
  readonly proxy?: HttpProxy | undefined;
}

/** Where requests go, and their headers. */
export interface Endpoint {
  readonly origin: string;
  /** The path of the base URL, without a slash at its end. It may hold `MODEL_IN_PATH`. */
  readonly path: string;
  /** The query of the base URL, such as Azure's `api-version`, with its question mark. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  /** Whether the host is OpenAI itself, or Azure. */
  readonly isOpenai: boolean;
  readonly streamUsage: boolean;
}

/** A request before anything proves who sends it. */
export interface OutgoingCall {
  readonly request: ModelRequest;
  /** As its host names it. */
  readonly model: string;
  readonly capTokens: number | undefined;
  readonly isTranslated: boolean;
  /** Of its client, as far as they reach the host. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The same as it is written. */
export interface OutgoingRequest {
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function endpointOf(host: Host, userAgent: string): Endpoint {
  const url = new URL(host.baseUrl);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    // A compressed response could be a bomb, and could not be relayed byte by byte.
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
    // Azure's may have names of their owner's.
    isOpenai:
      host.kind === 'azure' || /(?:^|\.)(?:openai\.com|(?:openai|cognitiveservices)\.azure\.com)$/.test(url.hostname),
    streamUsage: host.streamUsage,
  };
}

/** `{model}` in the path of a base URL, as the parser of URLs writes it: Azure's deployments have a path each. */
const MODEL_IN_PATH = '%7Bmodel%7D';

/** The path of a request with its query. `model`: as its host names it. */
export function pathFor({ path, query }: Endpoint, request: ModelRequest, model: string): string {
  const { dialect } = request;
  const below = dialect.pathFor?.(request, model) ?? dialect.path;
  const base = path.replace(MODEL_IN_PATH, () => encodeURIComponent(model));
  return `${base}${below}${below.includes('?') ? query.replace('?', '&') : query}`;
}

/** Headers that a host needs where the client of its dialect sends none. */
export const DEFAULT_HEADERS: Partial<Record<DialectName, Readonly<Record<string, string>>>> = {
  messages: { 'anthropic-version': '2023-06-01' },
};

/** The headers of a request. `client`: those of its client that reach the host. */
export function headersFor(
  endpoint: Endpoint,
  { dialect, stream }: ModelRequest,
  client: Readonly<Record<string, string>>,
): Record<string, string> {
  const accept = stream ? 'text/event-stream' : dialect.readBytes === undefined ? 'application/json' : '*/*';
  return { ...DEFAULT_HEADERS[dialect.name], ...client, ...endpoint.headers, accept };
}

/**
 * The request body for the upstream: with its own model name, a request for usage, and a maximum
 * of output tokens if it declares none that the host reads. `isTranslated`: the client speaks another dialect.
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
  // What a client wrote itself reaches its host as it is; what a translation wrote goes where it fits best.
  const binding = isTranslated ? [field] : read;
  const isDeclared = binding.some((name) => name !== undefined && typeof body.fields[name] === 'number');
  const tokens = (isTranslated ? maxOutput : undefined) ?? capTokens;
  return dialect.edit(request, {
    model: upstreamModel,
    askForUsage: request.stream && streamUsage,
    cap: isDeclared || field === undefined || tokens === undefined ? undefined : { field, tokens },
  });
}

/** Its reasoning models reject `max_tokens`, so that nothing is spent; most other hosts know only that. */
const MAXIMA_OF_OPENAI = ['max_completion_tokens', 'max_tokens'];
