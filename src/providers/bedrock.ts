/** Builds unsigned requests to Amazon Bedrock, and converts its stream frames to server-sent events. Pure. */

import { isObject, objectOf, parseJson } from '../core/json.ts';
import { BEDROCK_TIER_HEADER, fieldOfTier } from '../core/price-tiers.ts';
import { BETAS_FIELD } from '../dialects/betas.ts';
import { dataEvent, namedEvent } from '../wire/sse.ts';
import { bodyWithout, knownBetas } from './claude.ts';
import { bodyFor, type Endpoint, type OutgoingCall, type OutgoingRequest, pathFor } from './host.ts';

/** Content type of AWS event streams: binary frames with checksums. */
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

/** Fields that Bedrock expects in the path or headers, or does not support. */
const ELSEWHERE: readonly string[] = ['model', 'stream', 'service_tier', BETAS_FIELD];

/** Known betas, as reported in 2026-11. */
const BETAS: ReadonlySet<string> = new Set([
  'interleaved-thinking-2025-05-14',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'token-efficient-tools-2025-02-19',
  'output-128k-2025-02-19',
]);

/** Converts a messages body for `InvokeModel`. */
function invokeBody(text: string, betas: readonly string[]): string {
  const named = betas.length === 0 ? [] : [`"anthropic_beta":${JSON.stringify(betas)}`];
  return bodyWithout(text, ELSEWHERE, ['"anthropic_version":"bedrock-2023-05-31"', ...named]);
}

function tierHeader(tier: string | undefined): Record<string, string> {
  if (tier === undefined || tier === 'auto' || fieldOfTier(tier) !== 'service_tier') return {};
  return { [BEDROCK_TIER_HEADER]: tier === 'standard_only' ? 'default' : tier };
}

/** A frame of an event stream. */
export interface Frame {
  readonly headers: Readonly<Record<string, { readonly value: unknown }>>;
  readonly body: Uint8Array;
}

/** Converts a frame to a server-sent event; empty for `initial-response`. */
export function eventOf({ headers, body }: Frame): string {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
  const named = (name: string) => String(headers[name]?.value ?? '');
  switch (named(':message-type')) {
    case 'event': {
      const type = named(':event-type');
      if (type === 'initial-response') return '';
      // In JSON, raw line breaks occur only as white space, so replacing them is safe.
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

/** Decodes an event of the model's own dialect, which is sent as base64. */
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
