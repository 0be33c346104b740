/** Prices with conditions, and fields and headers that a provider refuses, in the config. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Prices } from '../../src/core/model-terms.ts';
import { load, problemsOf } from '../support/configs.ts';

const provider = (fields: string, model: string) =>
  `providers: { p: { kind: openai, base_url: "https://host.example/v1", ${fields} models: { m: { ${model} } } } }`;
const modelOf = (model: string) => load(provider('', model)).providers[0]?.models[0];

const million = (thousandths: number) => BigInt(thousandths) * 1_000_000n;

describe('a model', () => {
  test('has every price that the config sets', () => {
    const model = modelOf(
      'input: 1, cached_input: 0.5, output: 4, cache_write: 1.25, audio_input: 8, audio_output: 16, ' +
        'above: { tokens: 200000, input: 2, output: 6 }, service_tiers: { priority: { input: 2, output: 8, cached_input: 1 } }',
    );
    assert.partialDeepStrictEqual(model, {
      cachedInput: million(500),
      cacheWrite: million(1_250),
      audioInput: million(8_000),
      audioOutput: million(16_000),
      above: { tokens: 200_000, input: million(2_000), cachedInput: million(2_000), output: million(6_000) },
    });
    const priority = model?.serviceTiers.get('priority') as Prices;
    assert.deepEqual([priority.input, priority.cachedInput, priority.output], [2_000, 1_000, 8_000].map(million));
  });

  test('has the price of ordinary input and output where the config sets no other', () => {
    const model = modelOf('input: 1, output: 4');
    assert.partialDeepStrictEqual(model, {
      cachedInput: million(1_000),
      cacheWrite: million(1_000),
      audioInput: million(1_000),
      audioOutput: million(4_000),
      above: undefined,
      serviceTiers: new Map(),
    });
  });
});

test('a provider names the fields that it refuses', () => {
  assert.deepEqual(
    load(provider('refuse_fields: [models, route],', 'input: 1, output: 1')).providers[0]?.refuseFields,
    ['models', 'route'],
  );
});

test('a provider names the headers that it refuses, at all or with a value, quoted or as YAML reads it', () => {
  const entries =
    'OpenAI-Beta, "Anthropic-Beta: Fast-Mode-*", anthropic-beta: context-1m-2025-08-07, anthropic-version';
  assert.deepEqual(load(provider(`refuse_headers: [${entries}],`, 'input: 1, output: 1')).providers[0]?.refuseHeaders, [
    { name: 'openai-beta', value: undefined },
    { name: 'anthropic-beta', value: 'fast-mode-*' },
    { name: 'anthropic-beta', value: 'context-1m-2025-08-07' },
    { name: 'anthropic-version', value: undefined },
  ]);
});

const WRONG: readonly (readonly [text: string, problem: RegExp])[] = [
  [provider('refuse_fields: models,', 'input: 1, output: 1'), /refuse_fields: expected a list of field names/],
  [provider('refuse_headers: openai-beta,', 'input: 1, output: 1'), /refuse_headers: expected a list of headers/],
  ...['x-other', '"anthropic-beta:"', '"anthropic-beta: a, b"', 'openai-beta: 5', '[]', '""', '{}'].map(
    (entry) =>
      [provider(`refuse_headers: [${entry}],`, 'input: 1, output: 1'), /refuse_headers\.0: expected one of/] as const,
  ),
  [provider('', 'input: 1, output: 1, above: { input: 1, output: 1 }'), /above\.tokens: expected a whole number/],
  [provider('', 'input: 1, output: 1, above: 5'), /above: expected tokens and prices/],
  [provider('', 'input: 1, output: 1, service_tiers: { priority: 5 }'), /priority: expected/],
  [
    provider('', 'input: 1, output: 1, service_tiers: { auto: { input: 1, output: 1 } }'),
    /other than auto and default/,
  ],
  [provider('', 'input: 1, output: 1, service_tiers: { flex: { input: 1 } }'), /flex\.output: expected a price/],
  [provider('', 'input: 1, output: 1, cache_write: -1'), /cache_write: expected a price/],
];

describe('the config is refused for', () => {
  for (const [text, problem] of WRONG) {
    test(String(problem), () => assert.match(problemsOf(text).join('\n'), problem));
  }
});
