/** Posts an event to a webhook, signed: through no proxy, following no redirect, and only to a verified certificate. */
import { createHmac } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { signingKeyOf, type WebhookTarget } from '../core/alert-targets.ts';
import { request, requestTls } from '../core/node-http.ts';
import { VERSION } from '../core/program.ts';
import { type AlertEvent, type Answer, bodyFor } from './event.ts';

/** Posts an event, given as JSON. Never rejects. */
export async function postTo(target: WebhookTarget, event: string, timeoutMs: number): Promise<Answer> {
  const url = new URL(target.url);
  const body = bodyFor(target.format, event);
  const { id } = JSON.parse(event) as AlertEvent;
  const isTls = url.protocol === 'https:';
  const call = (isTls ? requestTls : request)({
    method: 'POST',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port || (isTls ? 443 : 80),
    path: url.pathname + url.search,
    ...(url.username !== '' && { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'User-Agent': `inf-gw/${VERSION}`,
      ...(target.secret !== undefined && signatureHeaders({ id, atMs: Date.now(), body }, target.secret)),
    },
    agent: false,
    // Not left to a default, which a variable of the environment can turn off.
    ...{ rejectUnauthorized: true },
  });
  const timer = setTimeout(() => call.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), timeoutMs);
  try {
    return answerOf((await responseTo(call, body)).statusCode ?? 0);
  } catch (error) {
    // Its message may repeat the address.
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const text = code === 'ETIMEDOUT' ? `no answer within ${timeoutMs / 1_000} s` : `not reached (${code})`;
    return { isDelivered: false, text };
  } finally {
    clearTimeout(timer);
    // The rest of the answer is not read.
    call.destroy();
  }
}

function responseTo(call: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    call.on('error', reject).once('response', resolve).end(body);
  });
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
