/** Config files: every key takes effect, and every problem is reported with its line and column. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { HttpProviderConfig, ProviderConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { directory, load, problemsOf } from '../support/configs.ts';

const EVERY_KEY = `listen: "[::1]:9999"
state: data/inf-gw.db
tier: small
tiers:
  standard: { rpm: 600, tpm: 2000000, concurrency: 60, models_rpm: 6000 }
  small: { rpm: 6, tpm: 20000, concurrency: 2, models_rpm: 60 }
credit: off
durability: crash
threads: 3
journal_retention: 90d
max_body: 512kb
max_connections: 300
overload: { loop_delay: 250ms, memory: 2gb }
cap_output: true
timeouts: { connect: 1s, first_byte: 2m, idle: 3m, request: 4s, drain: 5s }
retry: { attempts: 5, budget: 12.5% }
stream_keep_alive: 20s
log: { level: warn }
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
      fast: { upstream: real/name, input: 1, output: 2, max_output: 9000, default_output: 256, fallback: [ "host/plain", mock/echo ] }
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
    statePath: join(directory, 'data/inf-gw.db'),
    tierName: 'small',
    tier: { rpm: 6, tpm: 20_000, concurrency: 2, modelsRpm: 60 },
    creditEnforced: false,
    durability: 'crash',
    threads: 3,
    journalRetentionMs: 7_776_000_000,
    maxBodyBytes: 524_288,
    maxConnections: 300,
    overload: { loopDelayMs: 250, memoryBytes: 2_147_483_648 },
    capOutput: true,
    timeouts: { connectMs: 1_000, firstByteMs: 120_000, idleMs: 180_000, requestMs: 4_000, drainMs: 5_000 },
    retry: { attempts: 5, budget: 0.125 },
    streamKeepAliveMs: 20_000,
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

/** A config, and the problems that are reported. */
const PROBLEMS: readonly (readonly [text: string, ...lines: RegExp[]])[] = [
  ['listne: x', /^1:1: listne: unknown key/],
  ['# comment\n\nlistne: x', /^3:1: listne: unknown key/],
  ['- a\n- b', /^1:1: expected a map/],
  ['just a text', /^1:1: expected a map/],
  ['listen: 8787', /^1:1: listen: expected host:port/],
  ['listen: *nothing', /^1:\d+: .*alias/i],
  ['listen: a:1\nlisten: a:2', /^2:1: .*unique/],
  ['listen: [', /^1:\d+: /],
  ['a: 1\n---\nb: 2', /^\d:1: .*documents/],
  ['state: ""', /^1:1: state: expected a non-empty string/],
  ['state: 5', /^1:1: state: expected a string/],
  ['credit: maybe', /^1:1: credit: expected enforced or off/],
  ['cap_output: 1', /^1:1: cap_output: expected true or false/],
  [
    'providers:\n  o: { kind: openai, base_url: http://x, api_key: $A_KEY, models: {} }',
    /^2:\d+: providers\.o\.api_key: expected \$\{NAME\}/,
  ],
  [
    `providers:\n  o: { kind: openai, base_url: http://x, api_key: "\${A_KEY", models: {} }`,
    /^2:\d+: providers\.o\.api_key: expected \$\{NAME\}/,
  ],
  [
    'providers:\n  o: { kind: openai, base_url: http://x/v1/chat/completions, models: {} }',
    /^2:22: providers\.o\.base_url: expected the address without/,
  ],
  ['threads: 0', /^1:1: threads: expected a whole number from 1 to 64/],
  ['state: a.db\nthreads: 65', /^2:1: threads: expected a whole number from 1 to 64/],
  ['threads: two', /^1:1: threads: expected a whole number from 1 to 64/],
  ['threads: 1.5', /^1:1: threads: expected a whole number from 1 to 64/],
  ['journal_retention: 0d', /^1:1: journal_retention: expected a number of days such as 90d, or off/],
  ['journal_retention: 90', /^1:1: journal_retention: expected a number of days/],
  ['journal_retention: 1h', /^1:1: journal_retention: expected a number of days/],
  ['state: a.db\njournal_retention: -1d', /^2:1: journal_retention: expected a number of days/],
  ['journal_retention: on', /^1:1: journal_retention: expected a number of days/],
  ['max_connections: 0', /^1:1: max_connections: expected a whole number from 1/],
  ['overload: off', /^1:1: overload: expected a map/],
  ['overload: { loop_delay: 1 }', /^1:13: overload.loop_delay: expected a duration such as 500ms, or off/],
  ['overload: { memory: 1mb }', /^1:13: overload.memory: expected a size such as 512mb or 2gb, or off/],
  ['max_body: 32', /^1:1: max_body: expected a size/],
  ['max_body: 1gb', /^1:1: max_body: expected a size/],
  ['log: { level: loud }', /^1:8: log\.level: expected one of trace/],
  ['log: loud', /^1:1: log: expected a map/],
  ['timeouts:\n  idle: 5', /^2:3: timeouts\.idle: expected a duration/],
  ['timeouts:\n  idle: 5 minutes', /^2:3: timeouts\.idle: expected a duration/],
  ['timeouts:\n  total: 5m', /^2:3: timeouts\.total: unknown key/],
  ['tier: big', /^1:1: tier: expected one of the tiers: standard/],
  ['tier: constructor', /^1:1: tier: expected one of the tiers: standard/],
  ['tier: big\ntiers: { small: {} }', /^1:1: tier: expected one of the tiers: small/],
  ['tiers:\n  standard: { rpm: 0 }', /^2:15: tiers\.standard\.rpm: expected a whole number from 1/],
  ['tiers:\n  standard: { tpm: 1.5 }', /^2:15: tiers\.standard\.tpm: expected a whole number/],
  ['tiers:\n  standard: { rpm: "6" }', /^2:15: tiers\.standard\.rpm: expected a whole number/],
  ['tiers:\n  standard: { burst: 6 }', /^2:15: tiers\.standard\.burst: unknown key/],
  ['tiers: []', /^1:1: tiers: expected a map/],
  ['providers: 5', /^1:1: providers: expected a map/],
  ['providers:\n  "a/b": { kind: mock, models: {} }', /^2:3: providers\.a\/b: expected a provider name/],
  ['providers:\n  p: { models: {} }', /^2:3: providers\.p.*: expected kind: openai, kind: anthropic or kind: mock/],
  [
    'providers:\n  p: { kind: azure, models: {} }',
    /^2:8: providers\.p\.kind: expected kind: openai, kind: anthropic or kind: mock/,
  ],
  ['providers:\n  p: 5', /^2:3: providers\.p: expected a map/],
  ['providers:\n  p: { kind: mock }', /^2:3: providers\.p\.models: expected a map of model names/],
  ['providers:\n  p: { kind: openai, models: {} }', /^2:3: providers\.p\.base_url: expected an address, or/],
];

/** As above, for a field of a provider, on a line of its own. */
const PROVIDER_PROBLEMS: readonly (readonly [field: string, line: RegExp])[] = [
  ['base_url: ftp://host.example', /^4:5: providers\.p\.base_url: expected an address/],
  ['base_url: host.example', /^4:5: providers\.p\.base_url: expected an address/],
  ['base_url: "https://user:password@host.example"', /^4:5: providers\.p\.base_url: expected an address.*no password/],
  ['api_key: ""', /^4:5: providers\.p\.api_key: expected a non-empty string/],
  [`api_key: "\${file:missing.txt}"`, /^4:5: providers\.p\.api_key: cannot read the file .*missing\.txt \(ENOENT\)/],
  [`api_key: "\${A B}"`, /^4:5: providers\.p\.api_key: .*neither a variable/],
  [`api_key: "\${BROKEN}"`, /^4:5: providers\.p\.api_key: expected a value without line breaks/],
  ['headers: [a]', /^4:5: providers\.p\.headers: expected a map/],
  ['headers: { x-a: 5 }', /^4:16: providers\.p\.headers\.x-a: expected a string/],
  [
    'headers: { x-a: "one\\r\\ntwo: three" }',
    /^4:16: providers\.p\.headers\.x-a: expected a value without line breaks/,
  ],
  [`headers: { x-a: "\${BROKEN}" }`, /^4:16: providers\.p\.headers\.x-a: expected a value without line breaks/],
  ['headers: { "x a": one }', /^4:16: providers\.p\.headers\.x a: expected the name of an HTTP header/],
  ['headers: { Host: one }', /^4:16: providers\.p\.headers\.Host: this header is set by the gateway/],
  ['headers: { content-length: "1" }', /^4:16: .*this header is set by the gateway/],
  ['stream_usage: maybe', /^4:5: providers\.p\.stream_usage: expected on or off/],
  ['timeouts: { drain: 5s }', /^4:17: providers\.p\.timeouts\.drain: unknown key/],
  ['timeouts: { idle: 0s }', /^4:17: providers\.p\.timeouts\.idle: expected a duration/],
  ['models: [a]', /^4:5: providers\.p\.models: expected a map of model names/],
  ['models: { "a b": { input: 0, output: 0 } }', /^4:15: providers\.p\.models\.a b: expected a model name/],
  ['models: { a: { output: 1 } }', /^4:15: providers\.p\.models\.a\.input: expected a price/],
  ['models: { a: { input: "1", output: 1 } }', /^4:20: providers\.p\.models\.a\.input: expected a price/],
  ['models: { a: { input: -1, output: 1 } }', /^4:20: .*expected a price/],
  ['models: { a: { input: .nan, output: 1 } }', /^4:20: .*expected a price/],
  ['models: { a: { input: .inf, output: 1 } }', /^4:20: .*expected a price/],
  ['models: { a: { input: 0.0000000001, output: 1 } }', /^4:20: .*at most nine decimals/],
  ['models: { a: { input: 0, output: 1, price: 2 } }', /^4:41: providers\.p\.models\.a\.price: unknown key/],
  ['models: { a: { input: 0, output: 1, max_output: 0 } }', /^4:41: .*max_output: expected a whole number from 1/],
];

function providerWith(field: string): string {
  const name = field.slice(0, field.indexOf(':'));
  const others = { base_url: 'https://p.example', models: '{}' };
  const rest = Object.entries(others).filter(([other]) => other !== name);
  return `providers:\n  p:\n    kind: openai\n    ${field}\n${rest.map(([key, value]) => `    ${key}: ${value}\n`).join('')}`;
}

test('every problem is reported with its line, its column and what was expected', async (t) => {
  const rows = [...PROBLEMS, ...PROVIDER_PROBLEMS.map(([field, line]) => [providerWith(field), line] as const)];
  for (const [text, ...patterns] of rows) {
    await t.test(JSON.stringify(text), () => {
      const lines = problemsOf(text, { BROKEN: 'first\nsecond-line' });
      assert.equal(lines.length, patterns.length, lines.join('\n'));
      for (const [index, pattern] of patterns.entries()) assert.match(lines[index] ?? '', pattern);
      assert.ok(!lines.join('').includes('second-line'), 'an invalid value may be a secret');
    });
  }
});

test('a file that is named must exist; the default one need not', () => {
  const named = { path: 'missing.yaml', environment: {}, directory };
  assert.throws(() => loadConfig(named), /missing\.yaml \(ENOENT\)/);
  assert.throws(() => loadConfig({ environment: { INF_GW_CONFIG: 'gone.yaml' }, directory }), /gone\.yaml \(ENOENT\)/);
  assert.throws(() => loadConfig({ path: '.', environment: {}, directory }), /EISDIR/);
});
