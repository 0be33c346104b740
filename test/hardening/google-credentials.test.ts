/** The metadata server that gives Google's tokens: a lookup is bounded in size and time. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { authorizer, type GoogleOptions } from '../../src/upstream/google.ts';
import { withVariables } from '../support/environment.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { bounded } from '../support/wait.ts';

const server = await FakeUpstream.start();
after(() => server.close());
const MACHINE = {
  GCE_METADATA_HOST: `127.0.0.1:${server.port}`,
  METADATA_SERVER_DETECTION: 'assume-present',
  CLOUDSDK_CONFIG: '/nowhere',
};

const PIECE = Buffer.alloc(256 * 1024, 'x');
/** The bound and the buffers of the system. */
const MOST_SENT_BYTES = 16 * 1024 * 1024;
const ENDLESS = 512 * 1024 * 1024;
const FLAVOR = { 'metadata-flavor': 'Google' };

function tokens(options: Partial<GoogleOptions> = {}) {
  const proofs = authorizer({ project: 'my-project', ...options });
  return () => withVariables(MACHINE, () => proofs.headers());
}

function give(call: UpstreamCall, access_token: string): void {
  call.answer(200, { access_token, expires_in: 3_600, token_type: 'Bearer' }, FLAVOR);
}

test('an answer is read up to a bound', async () => {
  let sentBytes = 0;
  server.follow(async (call) => {
    call.head(200, { ...FLAVOR, 'content-type': 'application/json', 'content-length': String(ENDLESS) });
    while (sentBytes < ENDLESS && (await call.pour(PIECE))) sentBytes += PIECE.length;
  });
  await assert.rejects(bounded(tokens()(), 'the token'), /sent more than 262144 bytes/);
  for (const call of server.calls) await call.closed;
  assert.ok(sentBytes <= MOST_SENT_BYTES, `${sentBytes} bytes were sent`);
});

for (const [conduct, answer] of [
  ['is silent', () => {}],
  ['stops in the middle of its answer', (call) => call.head(200, { ...FLAVOR, 'content-length': '1000' })],
] as const satisfies readonly (readonly [string, (call: UpstreamCall) => void])[]) {
  test(`a server that ${conduct} is given up, its connection closes, and the next request asks again`, async () => {
    server.follow((call) => answer(call));
    const bounds = { milliseconds: 200, maxBytes: PIECE.length };
    const headers = tokens({ bounds });
    await assert.rejects(bounded(headers(), 'the token'), /no credentials within 200 ms/);
    for (const call of server.calls) await call.closed;
    server.follow((call) => give(call, 'ya29.later'));
    bounds.milliseconds = 60_000;
    assert.equal((await headers()).authorization, 'Bearer ya29.later');
  });
}
