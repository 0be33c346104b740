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

  test('has the price of input for what is cached or written to a cache, and none for audio and images, where the config sets no other', () => {
    const model = modelOf('input: 1, output: 4');
    assert.partialDeepStrictEqual(model, {
      cachedInput: million(1_000),
      cacheWrite: million(1_000),
      audioInput: undefined,
      cachedAudioInput: undefined,
      audioOutput: undefined,
      imageInput: undefined,
      imageOutput: undefined,
      above: undefined,
      serviceTiers: new Map(),
    });
  });

  test('has the price of audio for cached audio where the config sets no other', () => {
    assert.equal(modelOf('input: 1, output: 4, audio_input: 3')?.cachedAudioInput, million(3_000));
    const own = modelOf('input: 1, output: 4, audio_input: 3, cached_audio_input: 0.3');
    assert.equal(own?.cachedAudioInput, million(300));
  });

  test('has in a service tier without prices of its own for audio and images those that are as much above the others, and no lower', () => {
    const model = modelOf(
      'input: 1, output: 4, audio_input: 3, cached_audio_input: 0.3, image_output: 30, ' +
        'service_tiers: { priority: { input: 2, output: 6 }, flex: { input: 0.5, output: 2, image_output: 15 } }',
    );
    const mediaOf = (tier: string) => {
      const prices = model?.serviceTiers.get(tier);
      return [prices?.audioInput, prices?.cachedAudioInput, prices?.audioOutput, prices?.imageOutput];
    };
    assert.deepEqual(mediaOf('priority'), [million(6_000), million(600), undefined, million(45_000)]);
    assert.deepEqual(mediaOf('flex'), [million(3_000), million(300), undefined, million(15_000)]);
  });

  test('of kind mock has prices for audio: those of text', () => {
    const model = load('providers: { p: { kind: mock, models: { m: { input: 1, output: 4 } } } }').providers[0]
      ?.models[0];
    assert.deepEqual([model?.audioInput, model?.audioOutput], [million(1_000), million(4_000)]);
  });
});

describe('the price of a unit', () => {
  const unitOf = (fields: string, name: string) => modelOf(fields)?.tools.get(`per_${name}`);

  test('is USD a piece, whatever the request says', () => {
    const price = { call: million(2), tokens: 0, variants: [], isFlat: true };
    assert.deepEqual(unitOf('input: 1, output: 4, per: { search: 0.002 }', 'search'), price);
  });

  test('of an image is one for all, or one by its fields', () => {
    assert.equal(unitOf('per: { image: 0.04 }', 'image')?.isFlat, true);
    const fields = new Map([
      ['quality', 'high'],
      ['n', '2'],
    ]);
    assert.deepEqual(
      unitOf('per: { image: { price: 0.04, variants: [{ quality: high, n: 2, price: 0.1 }] } }', 'image'),
      {
        call: million(40),
        tokens: 0,
        variants: [{ call: million(100), tokens: 0, fields }],
      },
    );
  });

  for (const [per, nanos] of [
    ['second: 0.0001', 100_000n],
    ['minute: 0.006', 100_000n],
    ['hour: 0.04', 11_112n],
  ] as const) {
    test(`of a second is rounded up to the nanodollar: ${per}`, () =>
      assert.equal(unitOf(`per: { ${per} }`, 'second')?.call, nanos));
  }

  test('may stand alone: then requests have no price by tokens', () => {
    const alone = modelOf('per: { search: 0 }');
    assert.partialDeepStrictEqual(alone, { input: 0n, output: 0n, isWithoutTokenPrices: true });
    assert.equal(modelOf('input: 0, output: 0, per: { search: 0 }')?.isWithoutTokenPrices, undefined);
  });

  for (const [fields, problem] of [
    ['per: { search: -1 }', /per\.search: expected a price in USD a piece/],
    ['per: { image: { price: 1, variants: [{ price: 1 }] } }', /variants\.0: expected at least one field/],
    ['per: { second: 1, hour: 1 }', /per: expected one of second, minute and hour/],
    ['per: { image: x }', /per\.image: expected USD an image/],
    ['per: { serch: 1 }', /per\.serch: unknown key/],
    ['per: 1', /per: expected units and their prices/],
    ['input: 1, per: { search: 1 }', /output: expected a price/],
  ] as const) {
    test(`is reported: ${fields}`, () => assert.match(problemsOf(provider('', fields)).join('\n'), problem));
  }
});

describe('the price of a tool', () => {
  const toolOf = (tools: string, name = 'shell') =>
    modelOf(`input: 1, output: 4, tools: { ${tools} }`)?.tools.get(name);

  test('is a number, USD a call, which brings in what calls of the tool may', () => {
    assert.deepEqual(toolOf('web_search: 0.01', 'web_search'), { call: million(10), tokens: 10_000, variants: [] });
    assert.equal(toolOf('web_fetch: 0', 'web_fetch')?.tokens, 125_000);
  });

  test("of Google's pages brings in what fits into the context window, together", () => {
    const price = { call: 0n, variants: [] };
    const pages = (model: string) => modelOf(`input: 1, output: 4, ${model}`)?.tools.get('url_context');
    const filling = { ...price, tokens: 9_000, mostTokens: 9_000 };
    assert.deepEqual(pages('tools: { url_context: 0 }, context_window: 9000'), filling);
    assert.deepEqual(pages('tools: { url_context: 0 }'), { ...price, tokens: 0, lacksWindow: true });
    assert.deepEqual(pages('tools: { url_context: { call: 0, tokens: 5 } }'), { ...price, tokens: 5 });
  });

  test("of Google's searches brings in no more than ten calls do, unless it says otherwise", () => {
    const searches = (price: string) => toolOf(`google_search: ${price}`, 'google_search');
    assert.deepEqual([searches('0.01')?.tokens, searches('0.01')?.mostTokens], [10_000, 100_000]);
    assert.equal(searches('{ call: 0.01, tokens: 20000 }')?.mostTokens, undefined);
  });

  test('may bound the calls of a request', () => {
    assert.equal(toolOf('shell: { call: 1, max_calls: 25 }')?.maxCalls, 25);
  });

  test('or says what a call brings in, and what it costs by fields of the tool', () => {
    const variants = '[{ memory_limit: 4g, call: 0.12 }, { memory_limit: 64g, gpu: true, n: 2, call: 2, tokens: 9 }]';
    assert.deepEqual(toolOf(`shell: { call: 0.03, tokens: 5, variants: ${variants} }`), {
      call: million(30),
      tokens: 5,
      variants: [
        { call: million(120), tokens: 5, fields: new Map([['memory_limit', '4g']]) },
        {
          call: million(2_000),
          tokens: 9,
          fields: new Map([
            ['memory_limit', '64g'],
            ['gpu', 'true'],
            ['n', '2'],
          ]),
        },
      ],
    });
  });
});

describe('a service tier', () => {
  const above = 'above: { tokens: 200000, input: 3, cached_input: 0.2, output: 6 }';
  const aboveOf = (tier: string) =>
    modelOf(`input: 1, cached_input: 0.1, output: 4, ${above}, service_tiers: { t: { ${tier} } }`)?.serviceTiers.get(
      't',
    )?.above;

  test('that is dearer has prices of long requests that are dearer by as much', () => {
    const expected = { tokens: 200_000, input: million(6_000), cachedInput: million(400), output: million(12_000) };
    assert.deepEqual(aboveOf('input: 2, cached_input: 0.2, output: 8'), expected);
  });

  test('that is cheaper has them no cheaper than the model, since not every vendor has the tier for long requests', () => {
    const expected = { tokens: 200_000, input: million(3_000), cachedInput: million(200), output: million(6_000) };
    assert.deepEqual(aboveOf('input: 0.5, cached_input: 0.05, output: 2'), expected);
  });

  test('has those that it states', () => {
    const stated = 'input: 0.5, output: 2, above: { tokens: 100, input: 1, output: 3 }';
    const expected = { tokens: 100, input: million(1_000), cachedInput: million(1_000), output: million(3_000) };
    assert.deepEqual(aboveOf(stated), expected);
  });
});

test('a provider names the fields that it refuses', () => {
  assert.deepEqual(
    load(provider('refuse_fields: [models, route],', 'input: 1, output: 1')).providers[0]?.refuseFields,
    ['models', 'route'],
  );
});

test('a provider names the tools that translated requests leave out', () => {
  const toolsOf = (fields: string) => load(provider(fields, 'input: 1, output: 1')).providers[0]?.ignoreTools;
  assert.deepEqual([toolsOf('ignore_tools: [mcp, file_search],'), toolsOf('')], [['mcp', 'file_search'], []]);
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
  [provider('ignore_tools: mcp,', 'input: 1, output: 1'), /ignore_tools: expected a list of tools/],
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
  ...(
    [
      ['-1', /tools\.shell\.call: expected a price in USD a call/],
      ['abc', /tools\.shell: expected USD a call, or a map such as/],
      ['{ tokens: 5 }', /tools\.shell\.call: expected a price in USD a call/],
      ['{ call: 1, tokens: -1 }', /tools\.shell\.tokens: expected a whole number from 0/],
      ['{ call: 1, price: 2 }', /tools\.shell\.price: unknown key/],
      ['{ call: 1, max_calls: 0 }', /tools\.shell\.max_calls: expected a whole number from 1 to 10000/],
      ['{ call: 1, variants: [{ size: 4g, max_calls: 5, call: 1 }] }', /variants\.0: expected max_calls beside/],
      ['{ call: 1, variants: { memory_limit: 4g } }', /tools\.shell\.variants: expected a list of variants/],
      ['{ call: 1, variants: [{ memory_limit: 4g }] }', /variants\.0\.call: expected a price in USD a call/],
      ['{ call: 1, variants: [{ call: 1 }] }', /variants\.0: expected at least one field of the tool/],
      ['{ call: 1, variants: [{ size: [1], call: 1 }] }', /variants\.0\.size: expected the value of a field/],
      ['{ call: 1, variants: [{ size: "a b", call: 1 }] }', /variants\.0\.size: expected the value of a field/],
    ] as const
  ).map(([tool, problem]) => [provider('', `input: 1, output: 1, tools: { shell: ${tool} }`), problem] as const),
];

describe('the config is refused for', () => {
  for (const [text, problem] of WRONG) {
    test(String(problem), () => assert.match(problemsOf(text).join('\n'), problem));
  }
});
