/** Config files: every key takes effect, and every problem is reported with its line and column. */
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { HttpProviderConfig, ModelConfig, ProviderConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { directory, load } from '../support/configs.ts';

const EVERY_KEY = `listen: "[::1]:9999"
state: data/inf-gw.db
node: blue
tier: small
tiers:
  standard: { rpm: 600, tpm: 2000000, concurrency: 60, models_rpm: 6000 }
  small: { rpm: 6, tpm: 20000, concurrency: 2, models_rpm: 60 }
credit: off
durability: crash
threads: 3
tls: { cert: ./certs/a.crt, key: /etc/a.key }
journal_retention: 90d
max_body: 512kb
max_connections: 300
max_connections_per_source: 200
health: "127.0.0.1:9000"
overload: { loop_delay: 250ms, memory: 2gb }
cap_output: true
timeouts: { connect: 1s, first_byte: 2m, idle: 3m, request: 4s, drain: 5s }
retry: { attempts: 5, budget: 12.5% }
stream_keep_alive: 20s
cors: { origins: [ "https://app.example", "http://localhost:5173" ] }
metrics: { listen: "127.0.0.1:9464", key_labels: 7, hosts: [Gateway.Internal] }
alerts: { command: [notify, ops] }
otel: { endpoint: https://collector.example/otlp/, headers: { X-Token: "\${TOKEN}" }, attributes: { a.b: c }, sample: 10% }
log: { level: warn }
aliases: { quick: host/fast, "m-*": "mock/*" }
providers:
  host:
    kind: openai
    base_url: https://host.example/v1
    api_key: \${HOST_KEY}
    headers: { X-Title: my gateway, x-token: "\${TOKEN}" }
    stream_usage: off
    on_disconnect: drain
    timeouts: { idle: 7s }
    models:
      plain: { input: 0.15, cached_input: 0.075, output: 0.60, max_output: 100 }
      fast: { upstream: real/name, input: 1, output: 2, max_output: 9000, default_output: 256, cache: { ttl: 10m, max: 1gb, shared: true, keys: [key_1] }, fallback: [ "host/plain", mock/echo ] }
  mock:
    kind: mock
    timeouts: { connect: 8s, first_byte: 9s }
    models: { echo: { input: 0, output: 0 } }
`;

test('every key of the config takes effect', () => {
  const { providers, modifiedAtS, warnings: _, ...rest } = load(EVERY_KEY, { HOST_KEY: 'secret', TOKEN: 'token' });
  assert.ok(Math.abs(modifiedAtS - Date.now() / 1000) < 600);
  assert.deepEqual(rest, {
    path: join(directory, 'config.yaml'),
    listen: { host: '::1', port: 9999 },
    state: { kind: 'file', path: join(directory, 'data/inf-gw.db') },
    statePath: join(directory, 'data/inf-gw.db'),
    cachePath: join(directory, 'data/inf-gw.db.cache'),
    node: 'blue',
    tierName: 'small',
    tier: { rpm: 6, tpm: 20_000, concurrency: 2, modelsRpm: 60 },
    creditEnforced: false,
    durability: 'crash',
    prices: undefined,
    threads: 3,
    journalRetentionMs: 7_776_000_000,
    maxBodyBytes: 524_288,
    maxConnections: 300,
    maxPerSource: 200,
    health: { host: '127.0.0.1', port: 9000 },
    tls: { cert: join(directory, 'certs/a.crt'), key: '/etc/a.key' },
    overload: { loopDelayMs: 250, memoryBytes: 2_147_483_648 },
    capOutput: true,
    timeouts: { connectMs: 1_000, firstByteMs: 120_000, idleMs: 180_000, requestMs: 4_000, drainMs: 5_000 },
    retry: { attempts: 5, budget: 0.125 },
    streamKeepAliveMs: 20_000,
    corsOrigins: ['https://app.example', 'http://localhost:5173'],
    metrics: { listen: { host: '127.0.0.1', port: 9464 }, keyLabels: 7, hosts: ['gateway.internal'] },
    alerts: [{ kind: 'command', name: 'command', words: ['notify', 'ops'], missingVariable: undefined }],
    otel: {
      url: 'https://collector.example/otlp/v1/traces',
      headers: { 'x-token': 'token' },
      attributes: { 'a.b': 'c' },
      sampleRatio: 0.1,
    },
    aliases: new Map([
      ['quick', 'host/fast'],
      ['m-*', 'mock/*'],
    ]),
    logLevel: 'warn',
  });
  const [host, mock] = providers as [HttpProviderConfig, ProviderConfig];
  assert.partialDeepStrictEqual(host, {
    kind: 'openai',
    name: 'host',
    upstreams: [
      {
        name: 'host',
        baseUrl: 'https://host.example/v1',
        shownBaseUrl: 'https://host.example/v1',
        apiKey: 'secret',
        weight: 1,
        missingVariable: undefined,
      },
    ],
    onDisconnect: 'drain',
    headers: { 'x-title': 'my gateway', 'x-token': 'token' },
    streamUsage: false,
    timeouts: { connectMs: 1_000, firstByteMs: 120_000, idleMs: 7_000 },
    missingVariable: undefined,
    models: [
      {
        name: 'plain',
        upstream: 'plain',
        input: 150_000_000n,
        cachedInput: 75_000_000n,
        output: 600_000_000n,
        maxOutput: 100,
        defaultOutput: 100,
        fallback: [],
      },
      {
        name: 'fast',
        upstream: 'real/name',
        input: 1_000_000_000n,
        cachedInput: 1_000_000_000n,
        output: 2_000_000_000n,
        maxOutput: 9_000,
        defaultOutput: 256,
        fallback: ['host/plain', 'mock/echo'],
        cache: { ttlMs: 600_000, maxBytes: 1024 ** 3, isShared: true, keyIds: new Set(['key_1']) },
      },
    ],
  });
  assert.deepEqual(mock.timeouts, { connectMs: 8_000, firstByteMs: 9_000, idleMs: 180_000 });
});

const DEFAULTS = {
  listen: { host: '127.0.0.1', port: 8787 },
  statePath: join(directory, 'inf-gw.db'),
  tierName: 'standard',
  tier: { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6000 },
  creditEnforced: true,
  durability: 'full',
  threads: 1,
  journalRetentionMs: undefined,
  maxBodyBytes: 33_554_432,
  maxConnections: 8192,
  maxPerSource: 'half',
  health: undefined,
  tls: undefined,
  overload: { loopDelayMs: 500, memoryBytes: undefined },
  capOutput: false,
  retry: { attempts: 3, budget: 0.2 },
  streamKeepAliveMs: 15_000,
  timeouts: { connectMs: 10_000, firstByteMs: 600_000, idleMs: 300_000, requestMs: 30_000, drainMs: 30_000 },
  logLevel: 'info',
};

test('fields that a config leaves out have their documented defaults, and so has an empty file', () => {
  for (const text of ['', '# nothing\n', '{}\n', 'timeouts: {}\nlog: {}\nproviders: {}\n']) {
    assert.partialDeepStrictEqual(load(text), { ...DEFAULTS, providers: [] }, text);
  }
  const [mock] = load('providers: { m: { kind: mock, models: { a: { input: 0, output: 0 } } } }').providers;
  assert.deepEqual(mock?.timeouts, { connectMs: 10_000, firstByteMs: 600_000, idleMs: 300_000 });
  assert.equal(mock?.models[0]?.defaultOutput, 512);
});

test('rows of the journal are kept for a number of days, or forever', () => {
  const rows: [spelled: string, milliseconds: number | undefined][] = [
    ['journal_retention: 90d', 7_776_000_000],
    ['journal_retention: 1d', 86_400_000],
    ['journal_retention: off', undefined],
    ['journal_retention: false', undefined],
    ['', undefined],
  ];
  for (const [spelled, milliseconds] of rows) assert.equal(load(spelled).journalRetentionMs, milliseconds, spelled);
});

test('without a file there are the defaults and the mock provider', () => {
  const empty = mkdtempSync(join(directory, 'empty-'));
  const config = loadConfig({ environment: {}, directory: empty });
  assert.partialDeepStrictEqual(config, { ...DEFAULTS, path: undefined, statePath: join(empty, 'inf-gw.db') });
  assert.deepEqual(
    config.providers.map(({ name, kind, models }) => [name, kind, models.map((model) => model.name)]),
    [['mock', 'mock', ['echo']]],
  );
});

test('a provider is inactive if it refers to a variable that is not set, and active if it has no key', () => {
  const provider = (fields: string) =>
    `providers: { p: { kind: openai, base_url: "https://p.example", ${fields} models: {} } }`;
  const rows: [fields: string, missing: string | undefined][] = [
    ['', undefined],
    ['api_key: literal,', undefined],
    [`api_key: "\${SET}",`, undefined],
    [`api_key: "\${UNSET}",`, 'UNSET'],
    [`api_key: "\${EMPTY}",`, 'EMPTY'],
    [`headers: { x-token: "\${UNSET}" },`, 'UNSET'],
  ];
  for (const [fields, missing] of rows) {
    const [loaded] = load(provider(fields), { SET: 'value', EMPTY: '' }).providers;
    assert.equal(loaded?.missingVariable, missing, fields);
  }
});

test('a provider has its own proxy, that of the top level, or none', () => {
  const text = (top: string, own: string) =>
    `${top}\nproviders: { p: { kind: openai, base_url: "https://p.example", ${own} models: {} } }`;
  const shared = 'proxy: http://shared.example:3128';
  const rows: [top: string, own: string, origin: string | undefined, shown: string | undefined, missing?: string][] = [
    ['', '', undefined, undefined],
    [shared, '', 'http://shared.example:3128', 'http://shared.example:3128'],
    [shared, 'proxy: "https://own.example/",', 'https://own.example', 'https://own.example/'],
    [shared, 'proxy: off,', undefined, undefined],
    ['', `proxy: "http://ann:\${SET}@own.example",`, 'http://own.example', 'http://…@own.example'],
    ['', `proxy: "\${ADDRESS}",`, 'http://[::1]:8080', `\${ADDRESS}`],
    ['', `proxy: "\${UNSET}",`, undefined, `\${UNSET}`, 'UNSET'],
    [`proxy: "http://\${UNSET}@shared.example"`, '', undefined, 'http://…@shared.example', 'UNSET'],
  ];
  for (const [top, own, origin, shown, missing] of rows) {
    const { providers } = load(text(top, own), { SET: 'p%40ss', ADDRESS: 'http://ann@[::1]:8080' });
    const [{ proxy, shownProxy, missingVariable }] = providers as [HttpProviderConfig];
    assert.deepEqual([proxy?.origin, shownProxy, missingVariable], [origin, shown, missing], `${top} ${own}`);
  }
  const [{ proxy }] = load(text('', `proxy: "http://ann:\${SET}@own.example",`), { SET: 'p%40ss' }).providers as [
    HttpProviderConfig,
  ];
  assert.equal(proxy?.authorization, `Basic ${Buffer.from('ann:p@ss').toString('base64')}`);
  assert.deepEqual(proxy?.credentials, ['ann', 'p@ss']);
});

test('a provider of kind azure has what Azure has: its key in a header, and below a deployment no responses', () => {
  const all = ['chat', 'responses', 'embeddings', 'images', 'image_edits', 'speech', 'transcriptions', 'translations'];
  const dated = all.filter((dialect) => dialect !== 'responses');
  const rows: [fields: string, auth: string, dialects: string[]][] = [
    ['base_url: "https://x.openai.azure.com/openai/v1"', 'api-key', all],
    ['base_url: "https://apim.example/of/mine", auth: bearer', 'bearer', all],
    ['base_url: "https://x.openai.azure.com/openai/deployments/{model}?api-version=2024-10-21"', 'api-key', dated],
    [`base_url: "\${DATED}", auth: entra`, 'entra', dated],
    [`base_url: "\${DATED}", dialects: [responses]`, 'api-key', ['responses']],
  ];
  const DATED = 'https://x.openai.azure.com/openai/deployments/my-gpt?api-version=2024-10-21';
  for (const [fields, auth, dialects] of rows) {
    const [loaded] = load(`providers: { p: { kind: azure, ${fields}, models: {} } }`, { DATED }).providers;
    assert.ok(loaded?.kind === 'azure');
    assert.deepEqual([loaded.auth, loaded.dialects], [auth, dialects], fields);
  }
});

test('a call of a tool costs the same in every service tier, unless that says otherwise', () => {
  const tiers = '{ priority: { input: 2, output: 2 }, flex: { input: 1, output: 1, tools: { web_search: 0.02 } } }';
  const model = `{ input: 1, output: 1, tools: { web_search: 0.01 }, service_tiers: ${tiers} }`;
  const { providers } = load(`providers: { p: { kind: openai, base_url: "http://h/v1", models: { m: ${model} } } }`);
  const [{ serviceTiers }] = (providers[0] as ProviderConfig).models as [ModelConfig];
  const calls = ['priority', 'flex'].map((tier) => serviceTiers.get(tier)?.tools.get('web_search')?.call);
  assert.deepEqual(calls, [10_000_000n, 20_000_000n]);
});

test('prices are exact to the nanodollar', () => {
  const rows: [spelled: string, nanos: bigint][] = [
    ['0', 0n],
    ['0.1', 100_000_000n],
    ['0.0028', 2_800_000n],
    ['0.000000001', 1n],
    ['1e-3', 1_000_000n],
    ['75', 75_000_000_000n],
    ['999999.999999', 999_999_999_999_000n],
  ];
  for (const [spelled, nanos] of rows) {
    const [provider] = load(
      `providers: { m: { kind: mock, models: { a: { input: ${spelled}, output: 0 } } } }`,
    ).providers;
    assert.equal(provider?.models[0]?.input, nanos, spelled);
  }
});

test('`*` among the origins is a warning, which says what it means', () => {
  assert.deepEqual(load('cors: { origins: [https://a.example] }').warnings, []);
  const { corsOrigins, warnings } = load('cors: { origins: [https://a.example, "*"] }');
  assert.deepEqual(corsOrigins, ['https://a.example', '*']);
  assert.match(warnings.join('\n'), /^cors\.origins: \* lets every web page use the gateway, with any key/);
});

/** A config, and the problems that are reported. */
test('a file that is named must exist; the default one need not', () => {
  const named = { path: 'missing.yaml', environment: {}, directory };
  assert.throws(() => loadConfig(named), /missing\.yaml \(ENOENT\)/);
  assert.throws(() => loadConfig({ environment: { INF_GW_CONFIG: 'gone.yaml' }, directory }), /gone\.yaml \(ENOENT\)/);
  assert.throws(() => loadConfig({ path: '.', environment: {}, directory }), /EISDIR/);
  writeFileSync(join(directory, 'utf16.yaml'), '\ufefflisten: 127.0.0.1:1', 'utf16le');
  assert.throws(() => loadConfig({ ...named, path: 'utf16.yaml' }), /utf16\.yaml is not UTF-8 text/);
});

test('an answer is only given again by the model and provider that gave it', () => {
  const fingerprintOf = (address: string, fields = '', ttl = '1h') => {
    const models = `{ m: { input: 1, output: 2, ${fields} cache: { ttl: ${ttl} } } }`;
    const { providers } = load(`providers: { p: { kind: openai, base_url: "${address}", models: ${models} } }`);
    return providers[0]?.models[0]?.cache?.fingerprint;
  };
  const first = fingerprintOf('http://127.0.0.1:1/v1');
  assert.match(first ?? '', /^[0-9a-f]{64}$/);
  assert.equal(fingerprintOf('http://127.0.0.1:1/v1', '', '2h'), first);
  assert.notEqual(fingerprintOf('http://127.0.0.1:2/v1'), first);
  assert.notEqual(fingerprintOf('http://127.0.0.1:1/v1', 'upstream: other,'), first);
});
