/** Builds requests for hosts of the OpenAI chat-completions API. Pure. */
import { editBody } from '../wire/edit.ts';
import type { ChatRequest } from '../wire/request.ts';
import type { Secrets } from '../wire/secrets.ts';
import { secretsOf } from './secrets.ts';

/** A host as set in the config. */
export interface OpenaiHost {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether streams ask for usage with `stream_options`. */
  readonly streamUsage: boolean;
}

/** Where requests go, and their headers. */
export interface OpenaiEndpoint {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  /** The field that limits the output tokens of a request. */
  readonly capField: string;
  readonly streamUsage: boolean;
}

/**
 * The endpoint of a host. A query in its base URL, such as Azure's `api-version`, stays at the end.
 */
export function endpointOf(host: OpenaiHost, userAgent: string): OpenaiEndpoint {
  const url = new URL(host.baseUrl);
  const path = `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}`;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    // A compressed response could be a bomb, and could not be relayed byte by byte.
    'accept-encoding': 'identity',
    'user-agent': userAgent,
  };
  if (host.apiKey !== undefined) headers.authorization = `Bearer ${host.apiKey}`;
  return {
    origin: url.origin,
    path,
    headers: { ...headers, ...host.headers },
    secrets: secretsOf(host),
    capField: capFieldAt(url),
    streamUsage: host.streamUsage,
  };
}

/** OpenAI's own reasoning models reject `max_tokens`; most other hosts know only that. */
function capFieldAt({ hostname }: URL): string {
  return /(?:^|\.)openai\.(?:com|azure\.com)$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/**
 * The request body for the upstream: with its own model name, a request for usage, and a maximum
 * of output tokens if the client declares none.
 */
export function bodyFor(
  { streamUsage, capField }: OpenaiEndpoint,
  request: ChatRequest,
  upstreamModel: string,
  capTokens: number | undefined,
): string {
  return editBody(request, {
    model: upstreamModel,
    askForUsage: request.stream && streamUsage,
    cap: capTokens === undefined ? undefined : { field: capField, tokens: capTokens },
  });
}
