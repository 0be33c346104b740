/** Posts an event to a webhook, signed: through no proxy, following no redirect, and only to a verified certificate. */
import { createHmac } from 'node:crypto';
import { signingKeyOf, type WebhookTarget } from '../core/alert-targets.ts';
import { httpCall } from '../core/http-call.ts';
import { VERSION } from '../core/program.ts';
import { type AlertEvent, type Answer, bodyFor } from './event.ts';

/** Posts an event, given as JSON. Never rejects. */
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
    // A variable of the environment could turn off the default.
    const options = { method: 'POST', headers, body, timeoutMs, rejectUnauthorized: true };
    return await httpCall(url, options, ({ statusCode = 0 }) => answerOf(statusCode));
  } catch (error) {
    // Its message may repeat the address.
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

/** What is signed. */
export interface SignedRequest {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/**
 * The headers of Standard Webhooks 1.0.0, and one of our own that signs the body alone. Theirs sign the id of the event and the
 * time as well, so that a receiver can tell a replay.
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
