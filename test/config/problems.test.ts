/** Every problem of a config is reported: where it is, and what was expected there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsOf } from '../support/configs.ts';

const MOCK = 'providers: { p: { kind: mock, models: { m: { input: 0, output: 0 }, n: { input: 0, output: 0 } } } }';

const PROBLEMS: readonly (readonly [text: string, ...lines: RegExp[]])[] = [
  ['listne: x', /^1:1: listne: unknown key/],
  ['# comment\n\nlistne: x', /^3:1: listne: unknown key/],
  ['- a\n- b', /^1:1: expected a map/],
  ['just a text', /^1:1: expected a map/],
  ['listen: 8787', /^1:1: listen: expected host:port/],
  ['listen: *nothing', /^1:\d+: .*alias/i],
  ['listen: a:1\nlisten: a:2', /^2:1: .*unique/],
  ['listen: [', /^1:\d+: /],
  ['a: 1\n---\nb: 2', /^2:1: expected one YAML document; remove the ---/],
  ['state: ""', /^1:1: state: expected a non-empty string/],
  ['state: 5', /^1:1: state: expected a string/],
  ['credit: maybe', /^1:1: credit: expected enforced or off/],
  ['cap_output: 1', /^1:1: cap_output: expected true or false/],
  ...['proxy.example:3128', 'socks5://h:1080', 'http://h/path', 'http://h?x=1', 'http://an%zz:secret@h', '5'].map(
    (proxy) =>
      [`proxy: ${proxy}\n${MOCK}`, /^1:1: proxy: expected the address of an HTTP proxy, such as (?!.*secret)/] as const,
  ),
  [
    'proxy: ftp://h\nproviders:\n  o: { kind: openai, base_url: http://x, models: {} }\n  p: { kind: openai, base_url: http://x, models: {} }',
    /^1:1: proxy: expected the address of an HTTP proxy/,
  ],
  [
    'providers:\n  o: { kind: openai, base_url: http://x, models: {}, proxy: true }',
    /^2:\d+: providers\.o\.proxy: expected the address of an HTTP proxy, .*, or off$/,
  ],
  [
    'providers:\n  o: { kind: openai, base_url: http://x, models: {}, headers: { Proxy-Authorization: x } }',
    /^2:\d+: providers\.o\.headers\.Proxy-Authorization: this header is set by the gateway$/,
  ],
  [
    MOCK.replace('input: 0, output: 0', 'input: 0,15, output: 0,60'),
    /^1:55: providers\.p\.models\.m\.15: unknown key; numbers take a decimal point, not a comma: 0\.15$/,
    /^1:\d+: providers\.p\.models\.m\.60: unknown key; numbers take a decimal point/,
  ],
  [
    `providers:\n  p: { kind: mock, models: { m: { output: 1, input:\n    0,15 } } }`,
    /^3:7: providers\.p\.models\.m\.15: unknown key; numbers take a decimal point/,
  ],
  [
    'providers:\n  p:\n    kind: mock\n    models:\n      m:\n        input: 0,15\n        output: 1',
    /^6:9: providers\.p\.models\.m\.input: expected a price in USD .*, after a decimal point and not a comma$/,
  ],
  [
    MOCK.replace('output: 0', 'output: 0, tools: { web_search: 0,01 }'),
    /^1:\d+: providers\.p\.models\.m\.tools\.1: expected USD a call, .*; numbers take a decimal point/,
  ],
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
  [
    'providers:\n  p: { kind: mock, models: { m: { input: 0, output: 0, cache: { ttl: 1h, keys: [app] } } } }',
    /^2:\d+: providers\.p\.models\.m\.cache\.keys\.0: expected a list of ids of keys/,
  ],
  [
    'providers:\n  p: { kind: mock, models: { m: { per: { character: 0.1, byte: 0.1 } } } }',
    /^2:\d+: providers\.p\.models\.m\.per: expected one of character, character_han_twice and byte/,
  ],
  [
    'providers:\n  p: { kind: mock, models: { m: { per: { search: 0.1, least_seconds: 10 } } } }',
    /^2:\d+: providers\.p\.models\.m\.per: expected second, minute or hour beside least_seconds/,
  ],
  [
    'providers:\n  p: { kind: mock, models: { m: { input: 0, output: 0, reads: [images] } } }',
    /^2:\d+: providers\.p\.models\.m\.reads\.0: expected one of image, pdf, audio, video/,
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
  ['overload: { memory: 1mb }', /^1:13: overload.memory: expected 64mb or more, such as 512mb or 2gb, or off/],
  ['max_body: 32', /^1:1: max_body: expected a size/],
  ['max_body: 1gb', /^1:1: max_body: expected a size/],
  ['log: { level: loud }', /^1:8: log\.level: expected one of trace/],
  ['aliases: fast', /^1:1: aliases: expected a map of names to models/],
  ['aliases: { fast: p/m }', /^1:12: aliases\.fast: no such model in this file: "p\/m"/],
  [`aliases: { "*-*": "p/*-*" }\n${MOCK}`, /^1:12: aliases\.\*-\*: expected at most one \* on each side/],
  [`aliases: { fast: "p/*" }\n${MOCK}`, /^1:12: aliases\.fast: expected a \* in the name as well/],
  [`aliases: { "a*": "q/*" }\n${MOCK}`, /^1:12: aliases\.a\*: no such model in this file/],
  [`aliases: { p/m: p/n }\n${MOCK}`, /^1:12: aliases\.p\/m: this is the name of a model in this file/],
  [`aliases: { "a b": p/m }\n${MOCK}`, /^1:12: aliases\.a b: expected a model name/],
  ['log: loud', /^1:1: log: expected a map/],
  [
    'alerts:\n  webhooks:\n    - { url: https://a.example, secret: whsec_not-base64 }\n    - { url: https://b.example, secret: whsec_c2hvcnQ= }',
    /^3:\d+: alerts\.webhooks\.0\.secret: expected whsec_ and then 24 to 64 bytes in base64$/,
    /^4:\d+: alerts\.webhooks\.1\.secret: expected whsec_/,
  ],
  ['cors: on', /^1:1: cors: expected origins/],
  ['cors: { origins: [] }', /^1:9: cors\.origins: expected at least one origin/],
  ['cors: { origins: https://a.example }', /^1:9: cors\.origins: expected a list of origins/],
  [
    'cors:\n  origins:\n    - https://a.example\n    - https://b.example/',
    /^4:7: cors\.origins\.1: .* such as https:\/\/b\.example$/,
  ],
  ['cors: { origins: ["https://A.example:443"] }', /^1:19: cors\.origins\.0: .* such as https:\/\/a\.example$/],
  ['cors: { origins: ["https://user@a.example"] }', /^1:19: cors\.origins\.0: .* such as https:\/\/a\.example$/],
  ['cors: { origins: ["https://*.example"] }', /^1:19: cors\.origins\.0: .* such as https:\/\/app\.example$/],
  ['cors: { origins: [a.example] }', /^1:19: cors\.origins\.0: expected an origin/],
  ['cors: { origins: ["null"] }', /^1:19: cors\.origins\.0: expected an origin/],
  ['cors: { origins: [5] }', /^1:19: cors\.origins\.0: expected a string/],
  ['cors: { origins: [tauri://localhost], methods: [GET] }', /^1:39: cors\.methods: unknown key/],
  ['metrics: 9464', /^1:1: metrics: expected host:port, or {2}\{ listen/],
  ['metrics: localhost', /^1:1: metrics\.listen: expected host:port, such as 127\.0\.0\.1:9464/],
  ['metrics: { key_labels: 5 }', /^1:1: metrics\.listen: expected host:port/],
  ['metrics:\n  listen: "[::1]:9464"\n  key_labels: all', /^3:3: metrics\.key_labels: expected a whole number from 0/],
  ['listen: 127.0.0.1:1\nmetrics: 127.0.0.1:1', /^2:1: metrics: expected an address of its own, other than `listen`/],
  ['otel: on', /^1:1: otel: expected an endpoint, such as/],
  ['otel: { endpoint: "localhost:4318" }', /^1:9: otel\.endpoint: expected the base address of a collector/],
  ['otel: { endpoint: "http://u:p@host:4318" }', /^1:9: otel\.endpoint: .* secrets belong in headers$/],
  ['otel: { endpoint: "http://host:4318/?key=x" }', /^1:9: otel\.endpoint: expected the base address of a collector/],
  [
    'otel: { endpoint: "http://host:4318/v1/traces/" }',
    /^1:9: otel\.endpoint: expected the address without \/v1\/traces/,
  ],
  ['otel: { endpoint: "http://host", sample: 200% }', /^1:34: otel\.sample: expected a share/],
  ['otel: { endpoint: "http://host", headers: { Host: x } }', /^1:45: otel\.headers\.Host: this header is set by/],
  [
    'otel: { endpoint: "http://host", headers: { a: "\\n" } }',
    /^1:45: otel\.headers\.a: expected a value without line/,
  ],
  ['otel: { endpoint: "http://host", content: true }', /^1:34: otel\.content: unknown key/],
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
  [
    'providers:\n  a b: { kind: mock, modls: 1, models: { m: { input: -1, output: 0 } } }',
    /^2:3: providers\.a b: expected a provider name/,
    /^2:22: providers\.a b\.modls: unknown key/,
    /^2:47: providers\.a b\.models\.m\.input: expected a price/,
  ],
  [
    'providers:\n  a b: { kind: moc, models: { m: { input: -1, output: 0 } } }',
    /^2:3: providers\.a b: expected a provider name/,
    /^2:10: providers\.a b\.kind: .*; did you mean mock\?$/,
    /^2:36: providers\.a b\.models\.m\.input: expected a price/,
  ],
  [
    'providers:\n  p: { models: {} }',
    /^2:3: providers\.p\.kind: expected one of openai, azure, anthropic, gemini, bedrock, vertex, mock$/,
  ],
  [
    'providers:\n  p: { kind: cohere, models: {} }',
    /^2:8: providers\.p\.kind: expected one of openai, azure, anthropic, gemini, bedrock, vertex, mock$/,
  ],
  ['providers:\n  p: { kind: Azure_OpenAI, models: {} }', /^2:8: providers\.p\.kind: .*; did you mean azure\?$/],
  ['providers:\n  p: { kind: antropic, models: {} }', /^2:8: providers\.p\.kind: .*; did you mean anthropic\?$/],
  ['providers:\n  p: { kind: azure, models: {} }', /^2:3: providers\.p\.base_url: expected an address, or a list/],
  ...['', '/openai', '/openai/deployments/{model}', '/anthropic/v1'].map(
    (path) =>
      [
        `providers:\n  p: { kind: azure, base_url: "https://x.openai.azure.com${path}", models: {} }`,
        /^2:21: providers\.p\.base_url: expected an address with the path of Azure's API: …\/openai\/v1, or …/,
      ] as const,
  ),
  [
    `providers:\n  p: { kind: azure, models: {}, upstreams: [{ base_url: "https://apim.example/a" }, { base_url: "https://x.services.ai.azure.com" }] }`,
    /^2:\d+: providers\.p\.upstreams\.1\.base_url: expected an address with the path of Azure's API/,
  ],
  [
    'providers:\n  p: { kind: opanai, base_url: ftp://h, modles: {}, models: { a: { output: 1 } } }',
    /^2:8: providers\.p\.kind: expected one of .*; did you mean openai\?$/,
    /^2:22: providers\.p\.base_url: expected an address/,
    /^2:41: providers\.p\.modles: unknown key/,
    /^2:63: providers\.p\.models\.a\.input: expected a price/,
  ],
  [
    `providers:\n  p: { kind: openai, base_url: "http://h", api_key: \${A}, models: {} }\nlisten: [\${B}]`,
    /^2:53: quote it here: "\$\{A\}"$/,
    /^3:10: quote it here: "\$\{B\}"$/,
  ],
  [
    'providers:\n  p: { kind: openai, auth: entra, base_url: "http://h", api_key: k, models: {} }\n  q: { kind: gemini, auth: entra, models: {} }',
    /^2:\d+: providers\.p\.api_key: expected none: with auth: entra/,
    /^3:22: providers\.q\.auth: expected entra only for a provider of kind azure, openai or anthropic$/,
  ],
  [
    `providers:\n  p: { kind: openai, base_url: "ftp://h", api_key: "\${UNSET}", models: {} }`,
    /^2:22: providers\.p\.base_url: expected an address/,
  ],
  [
    `providers:\n  p: { kind: openai, base_url: "https://u:secret@\${UNSET}", models: {} }`,
    /^2:22: providers\.p\.base_url: expected an address.*no password/,
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

test('a provider of kind anthropic must say what writing to its cache costs', () => {
  const model = (fields: string) =>
    problemsOf(
      `providers:\n  p: { kind: anthropic, base_url: "http://h/v1", models: { m: { input: 1, output: 1${fields} } } }`,
    );
  assert.deepEqual(model(', cache_write: 1, cache_write_1h: 2'), []);
  assert.match(model(', cache_write: 1').join('\n'), /providers\.p\.models\.m: expected cache_write_1h/);
});

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
