/** Several upstreams of a provider, fallback models, and retries in the config. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpProviderConfig } from '../../src/config/config.ts';
import { load, problemsOf } from '../support/configs.ts';

const SEVERAL = `providers:
  several:
    kind: openai
    upstreams:
      - { base_url: "https://one.example/v1", api_key: "\${HOST_KEY}", weight: 3 }
      - { base_url: "https://two.example/v1" }
      - { base_url: "https://three.example/v1", api_key: "\${ABSENT}" }
    models: {}
`;

describe('a provider with several upstreams', () => {
  test('gives each a name, its own key, and a weight', () => {
    const [several] = load(SEVERAL, { HOST_KEY: 'secret' }).providers as [HttpProviderConfig];
    assert.equal(several.missingVariable, undefined, 'two of its upstreams can be used');
    assert.deepEqual(
      several.upstreams.map(({ name, baseUrl, apiKey, weight, missingVariable }) => [
        name,
        baseUrl,
        apiKey,
        weight,
        missingVariable,
      ]),
      [
        ['several#1', 'https://one.example/v1', 'secret', 3, undefined],
        ['several#2', 'https://two.example/v1', undefined, 1, undefined],
        ['several#3', 'https://three.example/v1', '', 1, 'ABSENT'],
      ],
    );
  });

  test('is inactive if none of them has its key', () => {
    const text = SEVERAL.replace('- { base_url: "https://two.example/v1" }', '');
    assert.equal(load(text, {}).providers[0]?.missingVariable, 'HOST_KEY');
  });
});

test('the retry budget is a percentage or a fraction', () => {
  assert.equal(load('retry: { budget: 25% }').retry.budget, 0.25);
  assert.equal(load('retry: { budget: 0.25 }').retry.budget, 0.25);
});

test('keep-alive comments are sent after a silence, or never', () => {
  assert.equal(load('stream_keep_alive: 1m').streamKeepAliveMs, 60_000);
  assert.equal(load('stream_keep_alive: off').streamKeepAliveMs, undefined);
});

const PROBLEMS: readonly (readonly [text: string, line: RegExp])[] = [
  ['retry: { attempts: 0 }', /^1:10: retry\.attempts: expected a whole number from 1 to 10/],
  ['retry: { budget: 1.2 }', /^1:10: retry\.budget: expected a share such as 20%/],
  ['retry: { budget: 101% }', /^1:10: retry\.budget: expected a share such as 20%/],
  ['stream_keep_alive: 15', /^1:1: stream_keep_alive: expected a duration such as 15s, or off/],
  [
    'providers:\n  p:\n    kind: openai\n    upstreams:\n      - { base_url: "http://a" }\n      - { base_url: "ftp://b" }\n    models: {}',
    /^6:11: providers\.p\.upstreams\.1\.base_url: expected an address that begins/,
  ],
  [
    'providers:\n  p:\n    kind: openai\n    upstreams:\n      - { base_url: "http://a", weight: 0 }\n    models: {}',
    /^5:33: providers\.p\.upstreams\.0\.weight: expected a whole number from 1 to 1000/,
  ],
  [
    'providers:\n  p:\n    kind: openai\n    upstreams: []\n    models: {}',
    /^4:5: providers\.p\.upstreams: expected at least one upstream/,
  ],
  [
    'providers:\n  p:\n    kind: openai\n    api_key: a-key\n    upstreams: [{ base_url: "http://a" }]\n    models: {}',
    /^4:5: providers\.p\.api_key: set api_key in each of the upstreams/,
  ],
  [
    'providers:\n  m: { kind: mock, models: { a: { input: 0, output: 0, fallback: [m/b] } } }',
    /^2:\d+: providers\.m\.models\.a\.fallback\.0: no such model in this file: "m\/b"/,
  ],
  [
    'providers:\n  m: { kind: mock, models: { a: { input: 0, output: 0, fallback: [m/a] } } }',
    /^2:\d+: providers\.m\.models\.a\.fallback\.0: a model cannot be its own fallback/,
  ],
  [
    'providers:\n  m: { kind: mock, models: { a: { input: 0, output: 0, fallback: [m/b, m/b] }, b: { input: 0, output: 0 } } }',
    /^2:\d+: providers\.m\.models\.a\.fallback\.1: this model is already in the list/,
  ],
];

describe('a problem is reported with its line, its column and what was expected', () => {
  for (const [text, line] of PROBLEMS) {
    test(JSON.stringify(text), () => {
      const lines = problemsOf(text);
      assert.equal(lines.length, 1, lines.join('\n'));
      assert.match(lines[0] as string, line);
    });
  }
});
