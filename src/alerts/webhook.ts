/** Posts signed events to a webhook, without proxies or redirects, and only to hosts with a verified certificate. */
import { createHmac } from 'node:crypto';
import { signingKeyOf, type WebhookTarget } from '../core/alert-targets.ts';
import { httpCall } from '../core/http-call.ts';
import { VERSION } from '../core/program.ts';
import { type AlertEvent, type Answer, bodyFor } from './event.ts';

/** Posts an event in JSON. Never rejects. */
export async function postTo(target: WebhookTarget, event: string, timeoutMs: number): Promise<Answer> {
  const url = new URL(target.url);
  const body = bodyFor(target.format, event);
  const { id } = JSON.parse(event) as AlertEvent;
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'User-Agent': `inf-gw/${VERSION}`,
    ...(target.secret !== undefined && signatureHeaders({ id, atMs: Date.now(), body }, target.secret)),
  };
  try {
    // Overrides the environment, where NODE_TLS_REJECT_UNAUTHORIZED could turn verification off.
    const options = { method: 'POST', headers, body, timeoutMs, rejectUnauthorized: true };
    return await httpCall(url, options, ({ statusCode = 0 }) => answerOf(statusCode));
  } catch (error) {
    // The message is left out, because it may contain the URL.
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const text = code === 'ETIMEDOUT' ? `no answer within ${timeoutMs / 1_000} s` : `not reached (${code})`;
    return { isDelivered: false, text };
  }
}

function answerOf(status: number): Answer {
  if (status >= 200 && status < 300) return { isDelivered: true, text: String(status) };
  const isRedirect = status >= 300 && status < 400;
  return { isDelivered: false, text: isRedirect ? `${status}: redirects are not followed` : String(status) };
}

/** Signed parts of a request. */
export interface SignedRequest {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/**
 * Returns the headers of Standard Webhooks 1.0.0, and `X-Inf-Gw-Signature`, which covers only the body. The standard headers also
 * sign the event id and the time, so that a receiver can detect replays.
 */
export function signatureHeaders({ id, atMs, body }: SignedRequest, secret: string): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signature = createHmac('sha256', signingKeyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
    'X-Inf-Gw-Signature': createHmac('sha256', secret).update(body).digest('hex'),
  };
}
