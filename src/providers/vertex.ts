/** What requests to a host of Google's Vertex AI look like before they carry a token. Pure. */
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
    // Google's and Anthropic's clients leave the sign of a version as it is.
    path: `${endpoint.path}/publishers/${publisher}/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${method}`,
    headers: { ...others, ...headers, ...endpoint.headers, accept },
    body,
  };
}

/** What Claude and Google's models have of their own. */
interface OfPublisher {
  readonly publisher: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Of a request to one of Google's models. */
function methodOf({ dialect, stream, body }: ModelRequest): string {
  if (dialect.name === 'vertex_embeddings') return isPrediction(body.fields) ? 'predict' : 'embedContent';
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** What Google documents, or its users report as known there, in 2026-11. */
const BETAS: ReadonlySet<string> = new Set([
  'interleaved-thinking-2025-05-14',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
]);
/** Google wants it with the tool, which Anthropic itself has without. */
const WEB_SEARCH = 'web-search-2025-03-05';

/** The version of the interface that has a name of its own there. Later ones have the same. */
const FIRST_VERSION = '2023-06-01';

/** The model is in the path there, betas are in a header, and no tier is known. */
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
