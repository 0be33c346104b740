/** Services of clouds give tokens and credentials through the proxy of a provider, and endpoints of the machine directly. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type HttpProxy, parseProxy } from '../../src/core/proxy.ts';
import { signerOf } from '../../src/upstream/aws.ts';
import { authorizer as entra } from '../../src/upstream/entra.ts';
import { authorizer as google } from '../../src/upstream/google.ts';
import { pem } from '../support/certificates.ts';
import { withVariables } from '../support/environment.ts';
import { FakeProxy } from '../support/fake-proxy.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';

const folder = await mkdtemp(join(tmpdir(), 'inf-gw-token-proxy-'));
const cloud = await FakeUpstream.start({ cert: pem('valid.crt'), key: pem('host.key') });
const machine = await FakeUpstream.start();
const proxy = await FakeProxy.start();
const through = parseProxy(`http://ann:secret@127.0.0.1:${proxy.port}`) as HttpProxy;
const here = `https://127.0.0.1:${cloud.port}`;
const authorities = getCACertificates('default');
setDefaultCACertificates([...authorities, pem('authority.crt')]);
after(async () => {
  setDefaultCACertificates(authorities);
  await Promise.all([cloud.close(), machine.close(), proxy.close()]);
  await rm(folder, { recursive: true });
});
beforeEach(() => proxy.reset());

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const tunnels = () => proxy.asked.map(({ authority }) => authority);
/** A proxy of the environment, at an address without a listener. */
const ELSEWHERE = {
  HTTPS_PROXY: 'http://127.0.0.1:9',
  HTTP_PROXY: 'http://127.0.0.1:9',
  https_proxy: 'http://127.0.0.1:9',
};

const APP = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'app', AZURE_CLIENT_SECRET: 'secret', AZURE_AUTHORITY_HOST: here };

test('a token of Entra', async () => {
  cloud.follow((call) => call.answer(200, { access_token: 'one', expires_in: 3_600 }));
  const headers = await entra('https://x.openai.azure.com', APP, through).headers();
  assert.deepEqual([headers.authorization, tunnels()], ['Bearer one', [`127.0.0.1:${cloud.port}`]]);
});

test('a fault of the proxy is named in place of a token', async () => {
  proxy.conduct = 407;
  await assert.rejects(entra('https://x.openai.azure.com', APP, through).headers(), /the proxy answered 407/);
});

test('a token of Entra from the identity of the machine is asked for directly', async () => {
  machine.follow((call) => call.answer(200, { access_token: 'two', expires_in: 3_600 }));
  const environment = { AZURE_POD_IDENTITY_AUTHORITY_HOST: `http://127.0.0.1:${machine.port}` };
  const headers = await entra('https://x.openai.azure.com', environment, through).headers();
  assert.deepEqual([headers.authorization, tunnels()], ['Bearer two', []]);
});

const federated = async () =>
  file(
    'google.json',
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${here}/token`,
      credential_source: { file: await file('subject', 'a-token') },
    }),
  );
const exchanged = { access_token: 'three', issued_token_type: 'x', token_type: 'Bearer', expires_in: 3_600 };

test('a token of Google by a federated identity, whatever proxy the environment names', async () => {
  cloud.follow((call) => call.answer(200, exchanged));
  const variables = { ...ELSEWHERE, GOOGLE_APPLICATION_CREDENTIALS: await federated() };
  const headers = await withVariables(variables, () => google({ project: 'my-project', proxy: through }).headers());
  assert.deepEqual([headers.authorization, tunnels()], ['Bearer three', [`127.0.0.1:${cloud.port}`]]);
});

test('a token of Google without a proxy, although the environment names one', async () => {
  cloud.follow((call) => call.answer(200, exchanged));
  const variables = { ...ELSEWHERE, GOOGLE_APPLICATION_CREDENTIALS: await federated() };
  const headers = await withVariables(variables, () => google({ project: 'my-project' }).headers());
  assert.deepEqual([headers.authorization, tunnels()], ['Bearer three', []]);
});

test('a token of Google from the metadata server is asked for directly', async () => {
  machine.follow((call) => {
    const flavor = { 'metadata-flavor': 'Google' };
    if (!call.path.includes('/token')) return call.answer(404, 'no such metadata', flavor);
    call.answer(200, { access_token: 'four', expires_in: 3_600, token_type: 'Bearer' }, flavor);
  });
  const variables = {
    ...ELSEWHERE,
    GCE_METADATA_HOST: `127.0.0.1:${machine.port}`,
    METADATA_SERVER_DETECTION: 'assume-present',
    CLOUDSDK_CONFIG: folder,
  };
  const headers = await withVariables(variables, () => google({ project: 'my-project', proxy: through }).headers());
  assert.deepEqual([headers.authorization, tunnels()], ['Bearer four', []]);
});

test('credentials of Amazon for a role', async () => {
  cloud.follow((call) =>
    call.answer(
      200,
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>AKIDOFROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>${new Date(Date.now() + 3_600_000).toISOString()}</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      { 'content-type': 'text/xml' },
    ),
  );
  const variables = {
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/r',
    AWS_WEB_IDENTITY_TOKEN_FILE: await file('identity', 'a-token'),
    AWS_ENDPOINT_URL_STS: here,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  const url = new URL('https://bedrock.eu-west-1.amazonaws.com/foundation-models');
  const sign = signerOf('bedrock', { region: 'eu-west-1', proxy: through, notice: () => {} });
  const headers = await withVariables(variables, () => sign({ method: 'GET', url, contentType: undefined, body: '' }));
  assert.match(headers.authorization ?? '', /Credential=AKIDOFROLE\//);
  assert.deepEqual(tunnels(), [`127.0.0.1:${cloud.port}`]);
});
