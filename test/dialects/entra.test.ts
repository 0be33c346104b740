/** Tokens of Microsoft Entra, which hosts of Azure take in place of a key: where they come from, and how they are kept. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { authorizer } from '../../src/upstream/entra.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { formOf } from '../support/forms.ts';
import { chat, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { whileNotLoaded } from '../support/not-loaded.ts';
import { wav } from '../support/sound-files.ts';
import { until } from '../support/wait.ts';

const folder = await mkdtemp(join(tmpdir(), 'inf-gw-entra-'));
/** Whoever gives tokens: Entra, or the machine. */
const microsoft = await FakeUpstream.start();
const here = `http://127.0.0.1:${microsoft.port}`;
const APP = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'app', AZURE_AUTHORITY_HOST: here };
Object.assign(process.env, APP, { AZURE_CLIENT_SECRET: 'secret-of-the-app' });

const options = { provider: { auth: 'entra', api_key: undefined, headers: {} } };
const gateway = await startTestGateway(options);
after(async () => {
  await gateway.stop();
  await microsoft.close();
  await rm(folder, { recursive: true });
});
afterEach(() => gateway.assertSettled());

const give = (token: string, seconds: number) =>
  microsoft.follow((call) => call.answer(200, { access_token: token, expires_in: seconds, token_type: 'Bearer' }));

async function ask(
  at: TestGateway,
): Promise<readonly [status: number, authorization: string | undefined, cost: number]> {
  at.upstream.follow((call) => call.answer(200, ANSWER));
  const key = at.key();
  const { status } = await at.post('/v1/chat/completions', key, chat());
  return [status, at.upstream.calls[0]?.header('authorization'), (await at.row(key)).cost_nanos];
}

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
};
const COST = 9_000 + 2 * 2_000;

describe('a request to Azure carries a token', () => {
  test('that its app gets by a secret, kept until five minutes before it expires', async () => {
    give('one', 200);
    assert.deepEqual(await ask(gateway), [200, 'Bearer one', COST]);
    const [call] = microsoft.calls;
    assert.equal(call?.path, '/tenant/oauth2/v2.0/token');
    assert.deepEqual(Object.fromEntries(new URLSearchParams(call?.body)), {
      grant_type: 'client_credentials',
      client_id: 'app',
      client_secret: 'secret-of-the-app',
      scope: 'https://cognitiveservices.azure.com/.default',
    });
    microsoft.follow((each) => each.answer(503, 'not now'));
    assert.equal((await ask(gateway))[1], 'Bearer one', 'the next one is not there, and this one has not expired');
    give('two', 3_600);
    await until(async () => (await ask(gateway))[1] === 'Bearer two');
    assert.deepEqual([(await ask(gateway))[1], microsoft.calls.length], ['Bearer two', 1]);
  });

  test('that none of its clients is told by a host that repeats it', async () => {
    const other = await startTestGateway(options);
    give('eyJ0eXAi-canary-0123456789', 3_600);
    other.upstream.follow((call) => call.answer(400, { error: { message: `No: ${call.header('authorization')}.` } }));
    const reply = await other.post('/v1/chat/completions', other.key(), chat());
    assert.equal(reply.status, 400);
    assert.ok(!reply.text.includes('canary'), reply.text);
    await other.stop();
  });

  test('that is followed by another once the host has refused it', async () => {
    const other = await startTestGateway(options);
    give('revoked', 3_600);
    other.upstream.follow((call) => call.answer(401, { error: { message: 'Token revoked.' } }));
    const sent = await other.post('/v1/chat/completions', other.key(), chat());
    assert.equal(sent.status, 502);
    give('next', 3_600);
    await until(async () => (await ask(other))[1] === 'Bearer next');
    assert.equal(microsoft.calls.length, 1);
    await other.stop();
  });

  test('with a file, too, which goes out once the token is there', async () => {
    const models = { ears: { per: { second: 0.000001 } } };
    const other = await startTestGateway({ provider: { ...options.provider, kind: 'azure', models } });
    give('four', 3_600);
    other.upstream.follow((call) => call.answer(200, { text: 'Hi.', usage: { type: 'duration', seconds: 1 } }));
    const form = await formOf([
      ['model', 'fake/ears'],
      ['file', wav({}, Buffer.from('some sound'))],
    ]);
    const reply = await other.request('/v1/audio/transcriptions', { key: other.key(), method: 'POST', ...form });
    assert.equal(reply.status, 200, reply.text);
    const call = await other.upstream.call();
    assert.deepEqual([call.header('authorization'), call.body.includes('sound')], ['Bearer four', true]);
    await other.stop();
  });

  test('with the next request, where nobody gave one or nothing could be loaded; without one it costs nothing', async () => {
    const other = await startTestGateway({ ...options, config: { retry: { attempts: 1 } } });
    const shortage = whileNotLoaded('./entra.ts');
    assert.deepEqual(await ask(other), [502, undefined, 0]);
    shortage.deregister();
    microsoft.follow((call) => call.answer(401, { error: 'invalid_client', error_description: 'AADSTS7000215: No.' }));
    assert.deepEqual(await ask(other), [502, undefined, 0]);
    give('three', 3_600);
    assert.deepEqual(await ask(other), [200, 'Bearer three', COST]);
    await other.stop();
  });
});

describe('a token comes from', () => {
  const bearer = async (environment: NodeJS.ProcessEnv, origin = 'https://one.openai.azure.com') =>
    (await authorizer(origin, environment).headers()).authorization;

  test('a token that another identity provider has written, read anew each time', async () => {
    const file = join(folder, 'federated');
    for (const token of ['first', 'second']) {
      await writeFile(file, `${token}\n`);
      give(`for ${token}`, 3_600);
      assert.equal(await bearer({ ...APP, AZURE_FEDERATED_TOKEN_FILE: file }), `Bearer for ${token}`);
      const asked = new URLSearchParams(microsoft.calls[0]?.body);
      assert.equal(asked.get('client_assertion'), token);
      assert.equal(asked.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    }
  });

  const RESOURCE = 'resource=https%3A%2F%2Fcognitiveservices.azure.com';
  const inAnHour = () => String(Math.floor(Date.now() / 1000) + 3_600);
  test('the identity of an app service', async () => {
    microsoft.follow((call) => call.answer(200, { access_token: 'of the service', expires_on: inAnHour() }));
    const environment = { IDENTITY_ENDPOINT: `${here}/msi/token`, IDENTITY_HEADER: 'h', AZURE_CLIENT_ID: 'mine' };
    assert.equal(await bearer(environment), 'Bearer of the service');
    const [call] = microsoft.calls;
    assert.equal(call?.path, `/msi/token?api-version=2019-08-01&${RESOURCE}&client_id=mine`);
    assert.equal(call?.header('x-identity-header'), 'h');
  });

  test('the identity of a machine', async () => {
    microsoft.follow((call) => call.answer(200, { access_token: 'of the machine', expires_on: inAnHour() }));
    assert.equal(await bearer({ AZURE_POD_IDENTITY_AUTHORITY_HOST: here }), 'Bearer of the machine');
    const [call] = microsoft.calls;
    assert.equal(call?.path, `/metadata/identity/oauth2/token?api-version=2018-02-01&${RESOURCE}`);
    assert.equal(call?.header('metadata'), 'true');
  });

  test('who gives them in the cloud of the host, for what that cloud has', async () => {
    const asked = async (origin: string, environment: NodeJS.ProcessEnv = {}) => {
      microsoft.follow((call) => call.answer(200, { access_token: 'a', expires_on: inAnHour() }));
      const identity = { IDENTITY_ENDPOINT: here, IDENTITY_HEADER: 'h', ...environment };
      await bearer(identity, origin);
      return new URL(microsoft.calls[0]?.path ?? '', here).searchParams.get('resource');
    };
    const government = 'https://cognitiveservices.azure.us';
    assert.equal(await asked('https://one.openai.azure.us'), government);
    assert.equal(await asked('https://one.openai.azure.cn'), 'https://cognitiveservices.azure.cn');
    // A host with a name of its own is where its apps log in.
    const AZURE_AUTHORITY_HOST = 'https://login.microsoftonline.us/';
    assert.equal(await asked('https://apim.corp.example', { AZURE_AUTHORITY_HOST }), government);
    assert.equal(await asked('https://apim.corp.example'), 'https://cognitiveservices.azure.com');
    assert.equal(await asked('https://notazure.us'), 'https://cognitiveservices.azure.com');
  });

  test("Azure's command line, where the machine has no identity; else it is said what to set", async () => {
    microsoft.follow((call) => call.answer(400, { error_description: 'Identity not found' }));
    const path = process.env.PATH;
    const az = (script: string) =>
      writeFile(join(folder, 'az'), `#!/bin/sh\n${script}\n`).then(() => chmod(join(folder, 'az'), 0o755));
    process.env.PATH = `${folder}:${path}`;
    await az(`echo '{ "accessToken": "of '"$6"'", "expiresOn": "2999-01-01 00:00:00.000000" }'`);
    const environment = { AZURE_POD_IDENTITY_AUTHORITY_HOST: here };
    assert.equal(await bearer(environment), 'Bearer of https://cognitiveservices.azure.com');
    await az("echo 'Please run az login' >&2; exit 1");
    await assert.rejects(bearer(environment), /set AZURE_TENANT_ID, .*Identity not found.*Please run az login/);
    process.env.PATH = path;
  });

  test('nobody who would have to be shown the secret without TLS', async () => {
    const environment = { ...APP, AZURE_CLIENT_SECRET: 'secret-of-the-app' };
    for (const address of [`http://nobody.invalid:${microsoft.port}`, 'login.microsoftonline.com']) {
      const asked = bearer({ ...environment, AZURE_AUTHORITY_HOST: address });
      await assert.rejects(asked, /AZURE_AUTHORITY_HOST: expected an address with https/);
    }
  });

  test('nobody in whose words the credentials would reach a log', async () => {
    const file = join(folder, 'federated');
    await writeFile(file, 'canary+assertion/1');
    const identity = { IDENTITY_ENDPOINT: here, IDENTITY_HEADER: 'canary-header-1' };
    microsoft.follow((call) => call.answer(400, `${call.body} ${call.header('x-identity-header')}`));
    for (const environment of [
      { ...APP, AZURE_CLIENT_SECRET: 'canary~secret.1' },
      { ...APP, AZURE_FEDERATED_TOKEN_FILE: file },
      identity,
    ]) {
      await assert.rejects(bearer(environment), ({ message }) => /withheld/.test(message) && !/canary/.test(message));
    }
  });

  test('nobody who answers with something else, in the words of whom was asked', async () => {
    const environment = { ...APP, AZURE_CLIENT_SECRET: 'of-this-very-app' };
    for (const [status, body, why] of [
      [
        401,
        { error_description: 'AADSTS7000215: Invalid secret.\r\nTrace: 1' },
        /answered 401: AADSTS7000215: Invalid secret\.$/,
      ],
      [502, '<html>', /answered 502: <html>$/],
      [200, '<html>', /what was sent is no token/],
      [200, {}, /the answer has no token/],
      [200, { access_token: 'a\r\nhost: b' }, /the answer has no token/],
      [200, { access_token: 'x'.repeat(300_000) }, /sent more than a token/],
    ] as const) {
      microsoft.follow((call) => call.answer(status, body));
      await assert.rejects(bearer(environment), why);
    }
  });
});
