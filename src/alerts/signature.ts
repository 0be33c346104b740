/** Signs the requests to a webhook: what is sent, and, so that it cannot be sent again for ever, which event it is and when. Pure. */
import { createHmac } from 'node:crypto';
import { signingKeyOf } from '../core/alert-targets.ts';

/** What is signed. */
export interface SignedRequest {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/** Those of Standard Webhooks 1.0.0, and one of our own, which covers the body alone. */
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
