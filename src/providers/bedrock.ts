/** What requests to a host of Amazon Bedrock look like before they are signed, and what the events of its streams become. Pure. */

import { isObject, objectOf, parseJson } from '../core/json.ts';
import { BEDROCK_TIER_HEADER, fieldOfTier } from '../core/price-tiers.ts';
import { BETAS_FIELD } from '../dialects/betas.ts';
import { dataEvent, namedEvent } from '../wire/sse.ts';
import { bodyWithout, knownBetas } from './claude.ts';
import { bodyFor, type Endpoint, type OutgoingCall, type OutgoingRequest, pathFor } from './host.ts';

/** The type of a response in frames, each an event with its checksums. */
export const FRAMES_TYPE = 'application/vnd.amazon.eventstream';

export function bedrockRequest(endpoint: Endpoint, call: OutgoingCall): OutgoingRequest {
  const { request, model, capTokens, isTranslated } = call;
  const text = bodyFor(endpoint, request, model, capTokens, isTranslated);
  const headers = { ...endpoint.headers, accept: request.stream ? FRAMES_TYPE : 'application/json' };
  const { 'anthropic-beta': betas, 'anthropic-version': _, ...others } = call.headers;
  if (request.dialect.name === 'converse') {
    return { path: pathFor(endpoint, request, model), headers: { ...others, ...headers }, body: text };
  }
  const operation = request.stream ? 'invoke-with-response-stream' : 'invoke';
  return {
    path: `${endpoint.path}/model/${encodeURIComponent(model)}/${operation}${endpoint.query}`,
    headers: { ...others, ...headers, ...tierHeader(request.serviceTier) },
    body: invokeBody(text, knownBetas(betas, request.body.fields, BETAS)),
  };
}

/** What is in the path or in a header there, and what no host of Bedrock knows. */
const ELSEWHERE: readonly string[] = ['model', 'stream', 'service_tier', BETAS_FIELD];

/** As reported in 2026-11. */
const BETAS: ReadonlySet<string> = new Set([
  'interleaved-thinking-2025-05-14',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'token-efficient-tools-2025-02-19',
  'output-128k-2025-02-19',
]);

/** A body of the messages dialect as `InvokeModel` takes it. */
function invokeBody(text: string, betas: readonly string[]): string {
  const named = betas.length === 0 ? [] : [`"anthropic_beta":${JSON.stringify(betas)}`];
  return bodyWithout(text, ELSEWHERE, ['"anthropic_version":"bedrock-2023-05-31"', ...named]);
}

function tierHeader(tier: string | undefined): Record<string, string> {
  if (tier === undefined || tier === 'auto' || fieldOfTier(tier) !== 'service_tier') return {};
  return { [BEDROCK_TIER_HEADER]: tier === 'standard_only' ? 'default' : tier };
}

/** A frame of a stream. */
export interface Frame {
  readonly headers: Readonly<Record<string, { readonly value: unknown }>>;
  readonly body: Uint8Array;
}

/** A frame as a server-sent event; empty for one that says nothing. */
export function eventOf({ headers, body }: Frame): string {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
  const named = (name: string) => String(headers[name]?.value ?? '');
  switch (named(':message-type')) {
    case 'event': {
      const type = named(':event-type');
      if (type === 'initial-response') return '';
      // Of JSON, only white space can hold a line end.
      return type === 'chunk'
        ? chunkOf(text)
        : dataEvent(`{${JSON.stringify(type)}:${text.replaceAll(/[\r\n]/g, ' ')}}`);
    }
    case 'exception':
      return errorEvent(named(':exception-type'), parseJson(text)?.value);
    default:
      return errorEvent(named(':error-code'), { message: named(':error-message') });
  }
}

function errorEvent(type: string, said: unknown): string {
  const { message, originalMessage } = objectOf(said);
  const words = typeof message === 'string' ? message : originalMessage;
  return namedEvent('error', JSON.stringify({ error: { type, message: words ?? type } }));
}

/** An event of the model's own dialect, which comes as base64. */
function chunkOf(text: string): string {
  const value = parseJson(text)?.value;
  const bytes = isObject(value) && typeof value.bytes === 'string' ? value.bytes : '';
  const data = Buffer.from(bytes, 'base64')
    .toString('utf8')
    .replaceAll(/[\r\n]/g, ' ');
  const event = parseJson(data)?.value;
  const type = isObject(event) ? event.type : undefined;
  return typeof type === 'string' && /^\w+$/.test(type) ? namedEvent(type, data) : dataEvent(data);
}
