/** Signatures are those of Standard Webhooks: one that its documents show, and one by its words for any other secret. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { signatureHeaders } from '../../../src/alerts/webhook.ts';

const REQUEST = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', atMs: 1_614_265_330_999, body: '{"test": 2432232314}' };

test('a secret that begins with whsec_ is a key in base64', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  assert.deepEqual(signatureHeaders(REQUEST, secret), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    'X-Inf-Gw-Signature': createHmac('sha256', secret).update(REQUEST.body).digest('hex'),
  });
});

test('any other secret is a key as it is', () => {
  const signed = Buffer.from('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}');
  const expected = createHmac('sha256', Buffer.from('sésame')).update(signed).digest('base64');
  assert.equal(signatureHeaders(REQUEST, 'sésame')['webhook-signature'], `v1,${expected}`);
});
