/** What `doctor` says of providers: how far it came, whether the key is accepted, and never the key. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { linesAboutBaseUrls } from '../../src/doctor/base-url.ts';
import { checkClock } from '../../src/doctor/doctor.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { checkProviders } from '../../src/doctor/providers.ts';
import { listingOf } from '../../src/providers/listing.ts';
import { load } from '../support/configs.ts';
import { FakeProxy } from '../support/fake-proxy.ts';
import { FakeUpstream, type Script, type UpstreamCall } from '../support/fake-upstream.ts';

const KEY = 'sk-secret-0123456789';
const CERTIFICATES = join(import.meta.dirname, '../faults/certificates');
const pem = (name: string) => readFileSync(join(CERTIFICATES, name), 'utf8');

let host: FakeUpstream;
let expired: FakeUpstream;
before(async () => {
  host = await FakeUpstream.start();
  expired = await FakeUpstream.start({ cert: pem('expired.crt'), key: pem('host.key') });
});
after(() => Promise.all([host.close(), expired.close()]));

const PRICES = 'models: { a: { input: 1, output: 1 } }';

/** Asks one provider with these fields. */
function ask(fields: string, environment: NodeJS.ProcessEnv = {}) {
  return checkProviders(load(`providers: { main: { ${fields}, ${PRICES} } }`, environment).providers, environment);
}

async function findingFor(script: Script, key = `, api_key: ${KEY}`, kind = 'kind: openai'): Promise<Finding> {
  host.follow(script);
  const { findings } = await ask(`${kind}, base_url: 'http://127.0.0.1:${host.port}/v1'${key}`);
  assert.equal(findings.length, 1);
  return findings[0] as Finding;
}

const OK: Script = (call) => call.answer(200, { data: [] });
const UNLESS_KEY: Script = (call) =>
  call.header('authorization') === `Bearer ${KEY}` ? call.answer(200, { data: [] }) : call.answer(401, {});
const answering =
  (status: number, message = ''): Script =>
  (call) =>
    call.answer(status, { error: { message } });

const ANSWERS: readonly (readonly [what: string, script: Script, status: Finding['status'], message: RegExp])[] = [
  ['200, and 401 without the key', UNLESS_KEY, 'ok', /^answers, and accepts its key$/],
  ['200 to everybody', OK, 'ok', /key was not checked: the host lists its models without one$/],
  ['401', answering(401, `Incorrect API key provided: ${KEY}`), 'error', /^refuses its key \(401\)$/],
  ['403', answering(403), 'error', /^refuses its key \(403\)$/],
  ['400 that names the key', answering(400, 'API key not valid.'), 'error', /^refuses its key \(400\)$/],
  ['another 400', answering(400, 'bad request'), 'warning', /^answers with 400; its key was not checked$/],
  ['403 for want of a scope', answering(403, 'Missing scopes: api.model.read'), 'warning', /may not list models/],
  ['402', answering(402), 'warning', /out of money/],
  ['404', answering(404), 'warning', /no listing of models there$/],
  ['503', answering(503), 'warning', /^answers with 503/],
  ['no HTTP', (call) => call.raw('220 mail.example ESMTP\r\n'), 'error', /^HTTP: .*127\.0\.0\.1:\d+ \(HPE_\w+\)$/],
  ['a reset', (call) => call.reset(), 'error', /^HTTP: .*\(ECONNRESET\)$/],
];

describe('a provider that answers', () => {
  for (const [what, script, status, message] of ANSWERS) {
    test(`${what}: ${status}`, async () => {
      const finding = await findingFor(script);
      assert.deepEqual([finding.name, finding.status], ['provider main', status]);
      assert.match(finding.message, message);
      assert.equal(finding.fix === undefined, status === 'ok');
      assert.doesNotMatch(JSON.stringify(finding), /secret/);
      // Nothing that costs.
      for (const call of host.calls) assert.deepEqual([call.method, call.path, call.body], ['GET', '/v1/models', '']);
    });
  }

  for (const [status, text, message] of [
    [200, '', /^answers, and accepts its credentials$/],
    [403, 'The security token included in the request is invalid.', /^refuses its credentials \(403\)$/],
    [403, 'User is not authorized to perform: bedrock:ListFoundationModels', /may not list models/],
    [404, '', /no listing of models there$/],
  ] as const) {
    test(`${status} to a request that is signed: ${message}`, async () => {
      const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-of-amazon' };
      Object.assign(process.env, credentials);
      const finding = await findingFor(answering(status, text), '', 'kind: bedrock, region: eu-west-1');
      for (const name of Object.keys(credentials)) delete process.env[name];
      assert.match(finding.message, message);
      const call = host.calls[0] as UpstreamCall;
      assert.equal(call.path, '/foundation-models');
      assert.match(call.header('authorization') ?? '', /^AWS4-HMAC-SHA256 .*\/eu-west-1\/bedrock\//);
    });
  }

  test('is not asked where there are no credentials to sign with', async () => {
    const none = {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      AWS_CONFIG_FILE: '/dev/null',
    };
    Object.assign(process.env, none);
    const { status, message, fix } = await findingFor(OK, '', 'kind: bedrock, region: eu-west-1');
    for (const name of Object.keys(none)) delete process.env[name];
    assert.match(`${status} ${message} ${fix}`, /^error found no credentials: .*AWS_PROFILE/);
    assert.equal(host.calls.length, 0);
  });

  test('of kind azure is asked with its key as Azure wants it', async () => {
    const unlessKey: Script = (call) => (call.header('api-key') === KEY ? OK(call) : answering(401)(call));
    const { message } = await findingFor(unlessKey, `, api_key: ${KEY}`, 'kind: azure');
    assert.equal(message, 'answers, and accepts its key');
  });

  test('is asked with a token of Entra, or reported as without credentials', async () => {
    process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST = `http://127.0.0.1:${host.port}`;
    const kind = 'kind: azure, auth: entra';
    const token = { access_token: 'secret-of-microsoft', expires_in: 3_600 };
    const give: typeof OK = (call) => (call.path.startsWith('/metadata/identity') ? call.answer(200, token) : OK(call));
    assert.equal((await findingFor(give, '', kind)).message, 'answers, and accepts its credentials');
    assert.equal(host.calls.at(-1)?.header('authorization'), 'Bearer secret-of-microsoft');
    const { status, message, fix } = await findingFor(answering(404, ''), '', kind);
    delete process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST;
    assert.match(`${status} ${message} ${fix}`, /^error found no credentials: .*az login.*AZURE_TENANT_ID/);
  });

  test('is asked once where it has no key', async () => {
    assert.equal((await findingFor(OK, '')).message, 'answers, and asks for no key');
    assert.equal(host.calls.length, 1);
    assert.match((await findingFor(answering(401), '')).message, /^asks for a key \(401\), and has none$/);
  });

  test('sets the clock right: a minute off is a warning', async () => {
    host.follow((call) => call.answer(401, {}, { date: new Date(Date.now() + 3_600_000).toUTCString() }));
    const { aheadMs } = await ask(`kind: openai, base_url: 'http://127.0.0.1:${host.port}/v1', api_key: ${KEY}`);
    assert.ok(Math.abs((aheadMs[0] ?? 0) - 3_600_000) < 60_000, String(aheadMs));
    assert.match(checkClock(aheadMs).message, /^3,\d{3} s behind the providers/);
    assert.deepEqual(
      [[61_000], [-61_000], [59_000], [3_600_000, -2_000], []].map((ahead) => checkClock(ahead).status),
      ['warning', 'warning', 'ok', 'ok', 'ok'],
    );
  });
});

describe('a provider behind a proxy', () => {
  let proxy: FakeProxy;
  before(async () => {
    proxy = await FakeProxy.start();
  });
  after(() => proxy.close());
  const address = () => `http://ann:canary-of-ann@127.0.0.1:${proxy.port}`;
  const at = async (baseUrl: string, environment: NodeJS.ProcessEnv = {}) => {
    const { findings } = await ask(
      `kind: openai, base_url: '${baseUrl}', api_key: ${KEY}, proxy: '${address()}'`,
      environment,
    );
    assert.doesNotMatch(JSON.stringify(findings), /canary/);
    return findings[0] as Finding;
  };

  test('is asked through it, and so is one whose base_url lacks a version', async () => {
    proxy.reset();
    host.follow(UNLESS_KEY);
    assert.equal((await at(`http://127.0.0.1:${host.port}/v1`)).message, 'answers, and accepts its key');
    host.follow((call) => call.answer(call.path === '/v1/models' ? 200 : 404, {}));
    assert.match((await at(`http://127.0.0.1:${host.port}`)).message, /which lacks \/v1/);
    assert.deepEqual(
      proxy.asked.map(({ authority, authorization }) => [authority, authorization?.startsWith('Basic ')]),
      Array(4).fill([`127.0.0.1:${host.port}`, true]),
    );
  });

  for (const [conduct, code] of [
    [407, '407'],
    [502, '502'],
    ['close', 'ECONNRESET'],
  ] as const) {
    test(`is reported with the proxy where that gives no connection: ${code}`, async () => {
      proxy.reset();
      proxy.conduct = conduct;
      const { status, message, fix } = await at('https://h.example/v1', { HTTPS_PROXY: 'http://127.0.0.1:9' });
      assert.deepEqual(
        [status, message],
        [
          'error',
          `proxy: its proxy gives no connection to its host: h.example through http://…@127.0.0.1:${proxy.port} (${code})`,
        ],
      );
      assert.match(fix ?? '', /^correct `proxy`/);
      assert.doesNotMatch(fix ?? '', /environment/);
    });
  }

  test('is reported for its certificate where the tunnel is open', async () => {
    proxy.reset();
    const { message } = await at(`https://127.0.0.1:${expired.port}/v1`);
    assert.match(message, /^TLS: .*\(CERT_HAS_EXPIRED\)$/);
  });
});

describe('a base_url without the version of its API', () => {
  const serving =
    (path: string, status = 200): Script =>
    (call) =>
      call.path === path ? call.answer(status, { data: [] }) : call.answer(404, {});
  const at = async (script: Script, kind: string, path: string) => {
    host.follow(script);
    const address = `http://127.0.0.1:${host.port}${path}`;
    const fields = `kind: ${kind}, base_url: '${address}', api_key: ${KEY}`;
    const { providers } = load(`providers: { main: { ${fields}, models: {} } }`);
    const [finding] = (await checkProviders(providers, {})).findings;
    const asked = host.calls.length;
    const lines = await linesAboutBaseUrls(providers, 5_000);
    for (const call of host.calls.slice(asked)) assert.doesNotMatch(JSON.stringify(call.headerLines), /secret/);
    return { finding, lines, address };
  };

  for (const [kind, path, version, script] of [
    ['openai', '', '/v1', serving('/v1/models')],
    ['openai', '/', '/v1', serving('/v1/models', 401)],
    ['openai', '/api?team=7', '/v1', serving('/api/v1/models?team=7')],
    ['anthropic', '', '/v1', serving('/v1/models', 403)],
    ['gemini', '', '/v1beta', serving('/v1beta/models')],
  ] as const) {
    test(`is an error where the host answers below ${version}: ${kind}, "${path}"`, async () => {
      const { finding, lines, address } = await at(script, kind, path);
      const [base = '', query] = address.replace(/\/$/, '').split('?');
      const fix = `set base_url: ${base}${version}${query === undefined ? '' : `?${query}`}`;
      assert.deepEqual(finding, {
        name: 'provider main',
        status: 'error',
        message: `its host answers 404 below its base_url, which lacks ${version}`,
        fix,
      });
      assert.deepEqual(lines, [`provider main: ${finding?.message}; ${fix}`]);
    });
  }

  test('is a warning where the host answers 404 there, too', async () => {
    const { finding, lines } = await at(serving('/nowhere'), 'openai', '');
    assert.equal(finding?.status, 'warning');
    assert.match(
      `${finding?.message}; ${finding?.fix}`,
      /which lacks \/v1; set base_url: .*\/v1, if its documentation/,
    );
    assert.equal(lines.length, 1);
  });

  for (const [path, script] of [
    ['', serving('/models')],
    ['', serving('/models', 401)],
    ['/v1', serving('/nowhere')],
    ['/openai/v4/', serving('/nowhere')],
  ] as const) {
    test(`is not reported for "${path}" where the host has that, or the base URL a version`, async () => {
      const { finding, lines } = await at(script, 'openai', path);
      assert.doesNotMatch(finding?.message ?? '', /lacks/);
      assert.deepEqual(lines, []);
    });
  }
});

describe('a provider that cannot be reached', () => {
  test('is named with the stage that failed', async () => {
    const { findings } = await checkProviders(
      load(
        `providers:
  name: { kind: openai, base_url: 'https://no-such-host.invalid/v1', api_key: ${KEY}, ${PRICES} }
  port: { kind: openai, base_url: 'http://127.0.0.1:9/v1', ${PRICES} }
  tls: { kind: anthropic, base_url: 'https://127.0.0.1:${expired.port}/v1', dialects: [messages], models: {} }
  secret: { kind: openai, base_url: '\${PLACE}', ${PRICES} }
  unset: { kind: openai, base_url: 'https://x.invalid', api_key: '\${NO_SUCH}', ${PRICES} }
  mock: { kind: mock, models: {} }
`,
        { PLACE: 'http://127.0.0.1:9/relay-token-1234' },
      ).providers,
      { HTTPS_PROXY: 'http://127.0.0.1:9' },
    );
    const proxy = '; the environment names a proxy, which the gateway does not use';
    assert.deepEqual(
      // Without a network the name service does not answer.
      findings.map(({ name, status, message }) => [name, status, message.replace('EAI_AGAIN', 'ENOTFOUND')]),
      [
        ['provider name', 'error', 'DNS: its host is not known: no-such-host.invalid (ENOTFOUND)'],
        ['provider port', 'error', 'TCP: no connection to its host: 127.0.0.1:9 (ECONNREFUSED)'],
        [
          'provider tls',
          'error',
          `TLS: its certificate is not trusted, or it does not speak TLS: 127.0.0.1:${expired.port} (CERT_HAS_EXPIRED)`,
        ],
        ['provider secret', 'error', 'TCP: no connection to its host: the host of its base_url (ECONNREFUSED)'],
        ['provider unset', 'warning', 'left out: NO_SUCH is not set'],
        ['provider mock', 'ok', 'built in'],
      ],
    );
    assert.ok(findings[1]?.fix?.endsWith(proxy));
  });
});

test('the request is the cheapest that each host has', () => {
  const shared = { apiKey: 'k', headers: { 'x-team': 'a' }, streamUsage: true };
  const at = (baseUrl: string, auth: 'bearer' | 'x-api-key' | 'api-key', dialect: 'chat' | 'messages') =>
    listingOf({ ...shared, baseUrl, auth }, [dialect], 'agent');
  const openai = at('https://api.openai.com/v1/', 'bearer', 'chat');
  assert.deepEqual([openai.origin, openai.path, openai.tellsKey], ['https://api.openai.com', '/v1/models', true]);
  assert.deepEqual(openai.headers, {
    'accept-encoding': 'identity',
    'user-agent': 'agent',
    authorization: 'Bearer k',
    'x-team': 'a',
    accept: 'application/json',
  });
  const anthropic = at('https://api.anthropic.com/v1', 'x-api-key', 'messages');
  assert.deepEqual(
    [anthropic.path, anthropic.headers['x-api-key'], anthropic.headers['anthropic-version']],
    ['/v1/models', 'k', '2023-06-01'],
  );
  assert.equal(
    at('https://x.openai.azure.com/openai/v1?api-version=1', 'api-key', 'chat').path,
    '/openai/v1/models?api-version=1',
  );
  for (const deployment of ['mine', '{model}']) {
    const url = `https://x.openai.azure.com/openai/deployments/${deployment}/?api-version=2024-10-21`;
    assert.equal(at(url, 'api-key', 'chat').path, '/openai/models?api-version=2024-10-21');
  }
  assert.equal(at('https://openrouter.ai/api/v1', 'bearer', 'chat').path, '/api/v1/key');
  assert.equal(at('https://x.services.ai.azure.com/openai/v1', 'api-key', 'chat').tellsKey, true);
  for (const silent of [
    'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1',
    'https://x.services.ai.azure.com/anthropic/v1',
  ]) {
    assert.equal(at(silent, 'bearer', 'chat').tellsKey, false);
  }
});
