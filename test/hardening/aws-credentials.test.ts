/** Endpoints that give Amazon's credentials: a lookup is bounded in size and time, and concurrent requests share it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { signerOf } from '../../src/upstream/aws.ts';
import type { CredentialOptions } from '../../src/upstream/aws-credentials.ts';
import { withVariables } from '../support/environment.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { bounded } from '../support/wait.ts';

const endpoint = await FakeUpstream.start();
after(() => endpoint.close());
const origin = `http://127.0.0.1:${endpoint.port}`;

/** Disables all other sources of credentials. */
const NO_FILES = { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' };
const CONTAINER = { ...NO_FILES, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/credentials` };
const MACHINE = { ...NO_FILES, AWS_EC2_METADATA_SERVICE_ENDPOINT: origin };

const URL_TO_SIGN = new URL('https://bedrock.eu-west-1.amazonaws.com/foundation-models');
const SOON_MS = 200;
const LATER_MS = 60_000;

function signer(options: Partial<CredentialOptions> = {}) {
  const sign = signerOf('bedrock', { region: 'eu-west-1', proxy: undefined, notice: () => {}, ...options });
  return async () => {
    const { authorization } = await sign({ method: 'GET', url: URL_TO_SIGN, contentType: undefined, body: '' });
    return /Credential=([^/]+)/.exec(authorization ?? '')?.[1];
  };
}

function give(call: UpstreamCall, AccessKeyId: string, lastsMs: number): void {
  const Expiration = new Date(Date.now() + lastsMs).toISOString();
  call.answer(200, { AccessKeyId, SecretAccessKey: 's', Token: 't', Expiration });
}

const PIECE = Buffer.alloc(256 * 1024, 'x');
/** The bound and the buffers of the system. */
const MOST_SENT_BYTES = 16 * 1024 * 1024;
const ENDLESS = 512 * 1024 * 1024;

for (const [name, variables] of [
  ['a container', CONTAINER],
  ['a machine', MACHINE],
] as const) {
  describe(`the endpoint of ${name}`, () => {
    test('is read up to a bound', async () => {
      let sentBytes = 0;
      endpoint.follow(async (call) => {
        if (call.method === 'PUT') return call.answer(200, 'token');
        call.head(200, { 'content-length': String(ENDLESS) });
        while (sentBytes < ENDLESS && (await call.pour(PIECE))) sentBytes += PIECE.length;
      });
      await assert.rejects(bounded(withVariables(variables, signer()), 'the answer'), /sent more than 262144 bytes/);
      for (const call of endpoint.calls) await call.closed;
      assert.ok(sentBytes <= MOST_SENT_BYTES, `${sentBytes} bytes were sent`);
    });

    for (const [conduct, answer] of [
      ['is silent', () => {}],
      ['stops in the middle of its answer', (call) => call.head(200, { 'content-length': '1000' })],
    ] as const satisfies readonly (readonly [string, (call: UpstreamCall) => void])[]) {
      test(`is given up if it ${conduct}, its connection closes, and the next request asks again`, async () => {
        endpoint.follow((call) => answer(call));
        const bounds = { milliseconds: SOON_MS, maxBytes: PIECE.length };
        const sign = signer({ bounds });
        await assert.rejects(bounded(withVariables(variables, sign), 'the answer'), /no credentials within 200 ms/);
        for (const call of endpoint.calls) await call.closed;
        endpoint.follow((call) => {
          if (call.method === 'PUT' || call.path.endsWith('/')) call.answer(200, 'role');
          else give(call, 'AKIDLATER', 3_600_000);
        });
        bounds.milliseconds = LATER_MS;
        assert.equal(await withVariables(variables, sign), 'AKIDLATER');
      });
    }
  });
}

test('concurrent requests share one lookup, also when their credentials have expired', async () => {
  const sign = signer();
  endpoint.follow((call) => give(call, `AKID${endpoint.calls.length}`, -1));
  for (const expected of ['AKID1', 'AKID2']) {
    const signed = await withVariables(CONTAINER, () => Promise.all(Array.from({ length: 50 }, sign)));
    assert.deepEqual(signed, Array(50).fill(expected));
  }
  assert.equal(endpoint.calls.length, 2);
});

test('an answer that is no JSON is not quoted', async () => {
  endpoint.follow((call) => call.answer(200, '{"AccessKeyId":"AKID","SecretAccessKey":canary-4711}'));
  await assert.rejects(withVariables(MACHINE, signer()), (error: Error) => {
    assert.doesNotMatch(error.message, /canary/);
    return /did not send valid JSON/.test(error.message);
  });
});

test('warnings of the packages are lines for the log, and not for stderr', async (t) => {
  const { mock } = t.mock.method(console, 'warn');
  const lines: string[] = [];
  endpoint.follow((call) => give(call, 'AKID', 3_600_000));
  const variables = {
    ...CONTAINER,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'token',
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/dev/null',
  };
  assert.equal(await withVariables(variables, signer({ notice: (line) => lines.push(line) })), 'AKID');
  assert.deepEqual(lines, [
    '@aws-sdk/credential-provider-http: you have set both awsContainerAuthorizationToken and awsContainerAuthorizationTokenFile.',
    'awsContainerAuthorizationTokenFile will take precedence.',
  ]);
  assert.equal(mock.callCount(), 0);
});
