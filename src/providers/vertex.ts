/** Builds requests to Google's Vertex AI, without the token. Pure. */
import { isObject } from '../core/json.ts';
import { BETAS_FIELD } from '../dialects/betas.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { isPrediction } from '../dialects/gemini/vertex-embeddings.ts';
import { bodyWithout, knownBetas } from './claude.ts';
import { bodyFor, type Endpoint, type OutgoingCall, type OutgoingRequest } from './host.ts';

export function vertexRequest(endpoint: Endpoint, call: OutgoingCall): OutgoingRequest {
  const { request, model, capTokens, isTranslated } = call;
  const text = bodyFor(endpoint, request, model, capTokens, isTranslated);
  const { 'anthropic-beta': betas, 'anthropic-version': version, ...others } = call.headers;
  const accept = request.stream ? 'text/event-stream' : 'application/json';
  const { publisher, method, headers, body } =
    request.dialect.name === 'messages'
      ? askClaude(request, text, betas, version)
      : { publisher: 'google', method: methodOf(request), headers: {}, body: text };
  return {
    // Keeps `@` before a version unencoded, like the clients of Google and Anthropic.
    path: `${endpoint.path}/publishers/${publisher}/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${method}`,
    headers: { ...others, ...headers, ...endpoint.headers, accept },
    body,
  };
}

/** Request parts that differ between Claude and Google's models. */
interface OfPublisher {
  readonly publisher: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns the method for one of Google's models. */
function methodOf({ dialect, stream, body }: ModelRequest): string {
  if (dialect.name === 'vertex_embeddings') return isPrediction(body.fields) ? 'predict' : 'embedContent';
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** Known betas, as documented by Google or reported by users in 2026-11. */
const BETAS: ReadonlySet<string> = new Set([
  'interleaved-thinking-2025-05-14',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
]);
/** Vertex AI requires this beta for the web search tool; Anthropic's own API does not. */
const WEB_SEARCH = 'web-search-2025-03-05';

/** API version with a different name on Vertex AI. Later versions have the same name. */
const FIRST_VERSION = '2023-06-01';

/** Body fields that Vertex AI expects in the path (model) or a header (betas), or does not support (tier). */
const ELSEWHERE: readonly string[] = ['model', 'service_tier', BETAS_FIELD];

function askClaude(
  { stream, body }: ModelRequest,
  text: string,
  named: string | undefined,
  version = FIRST_VERSION,
): OfPublisher {
  const betas = [...knownBetas(named, body.fields, BETAS), ...(searchesWeb(body.fields.tools) ? [WEB_SEARCH] : [])];
  const spoken = version === FIRST_VERSION ? 'vertex-2023-10-16' : version;
  return {
    publisher: 'anthropic',
    method: stream ? 'streamRawPredict' : 'rawPredict',
    headers: betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') },
    body: bodyWithout(text, ELSEWHERE, [`"anthropic_version":${JSON.stringify(spoken)}`]),
  };
}

function searchesWeb(tools: unknown): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && String(tool.type).startsWith('web_search_'));
}
