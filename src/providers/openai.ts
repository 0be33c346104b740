/** Hosts that speak the chat-completions format: how a request to them looks. Pure. */
import { editBody } from '../wire/edit.ts';
import type { ChatRequest } from '../wire/request.ts';

/** A host, as the config describes it. */
export interface OpenaiHost {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streams ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
}

/** Where requests go, and what stands at the head of each. */
export interface OpenaiEndpoint {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What must never reach a client: credentials and addresses. */
  readonly secrets: readonly string[];
}

/** Shorter values are no secrets, and would be found in any text. */
const SECRET_CHARACTERS = 6;

/** Reads a host's address once. A query, such as Azure's `api-version`, stays at the end. */
export function endpointOf(host: OpenaiHost, userAgent: string): OpenaiEndpoint {
  const url = new URL(host.baseUrl);
  const path = `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}`;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    // A compressed answer could hide a bomb, and its bytes could not be passed on as they come.
    'accept-encoding': 'identity',
    'user-agent': userAgent,
  };
  if (host.apiKey !== undefined) headers.authorization = `Bearer ${host.apiKey}`;
  const secrets = [
    host.apiKey ?? '',
    url.host,
    url.hostname,
    ...url.searchParams.values(),
    ...Object.values(host.headers),
  ];
  return {
    origin: url.origin,
    path,
    headers: { ...headers, ...host.headers },
    secrets: secrets.filter((secret) => secret.length >= SECRET_CHARACTERS),
  };
}

/** OpenAI's own reasoning models refuse `max_tokens`; most other hosts know no other field. */
function capField(host: OpenaiHost): string {
  const { hostname } = new URL(host.baseUrl);
  return /(?:^|\.)openai\.(?:com|azure\.com)$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/** The body that goes upstream: `model` renamed, usage asked for, output capped where the request declares no maximum. */
export function bodyFor(
  host: OpenaiHost,
  request: ChatRequest,
  upstreamModel: string,
  capTokens: number | undefined,
): string {
  return editBody(request, {
    model: upstreamModel,
    askForUsage: request.stream && host.streamUsage,
    cap: capTokens === undefined ? undefined : { field: capField(host), tokens: capTokens },
  });
}
