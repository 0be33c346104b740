/** The community's price list: what each entry costs, which provider it is for, and why it is left out. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changesOf } from '../../src/config/price-list/changes.ts';
import { judge } from '../../src/config/price-list/judge.ts';
import { type ListEntry, readPriceList } from '../../src/config/price-list/list.ts';
import { selectPrices } from '../../src/config/price-list/providers.ts';
import { UserError } from '../../src/core/errors.ts';
import { formatUsd } from '../../src/core/money.ts';
import { load } from '../support/configs.ts';

/** An entry with these fields, read as the file is. */
function entry(fields: string): ListEntry {
  return readPriceList(`{"m": {"litellm_provider": "openai", ${fields}}}`, 'list.json').get('m') as ListEntry;
}
const CHAT = '"mode": "chat", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07';

/** Amounts as USD, and fields that are not set left out. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return formatUsd(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(members.map(([name, each]) => [name, plain(each)]));
}
function judged(fields: string, { billsCacheWrites = false, bundlesSearch = false } = {}): unknown {
  const judgement = judge(entry(fields), billsCacheWrites, bundlesSearch);
  return judgement.ok ? plain(judgement.entry) : judgement.reason;
}

const BASE = { input: '0.15', output: '0.60', tools: {}, service_tiers: {} };

const search = (call: string, high: string) => ({
  web_search: { call, variants: [{ search_context_size: 'high', call: high }] },
});

const IMPORTED: readonly (readonly [name: string, fields: string, entry: object])[] = [
  ['a price a token becomes one a million, exactly', CHAT, BASE],
  ['remains of floats are no digits', CHAT.replace('6e-07', '6.0000000000000002e-07'), BASE],
  [
    'what is cached, written and spoken has prices of its own',
    `${CHAT}, "cache_read_input_token_cost": 7.5e-08, "cache_creation_input_token_cost": 2e-07,
     "cache_creation_input_token_cost_above_1hr": 3e-07, "input_cost_per_audio_token": 1e-05, "output_cost_per_audio_token": 2e-05`,
    {
      ...BASE,
      cached_input: '0.075000',
      cache_write: '0.20',
      cache_write_1h: '0.30',
      audio_input: '10.00',
      audio_output: '20.00',
    },
  ],
  [
    'so have cached audio, and images',
    `${CHAT}, "input_cost_per_audio_token": 1e-05, "cache_read_input_audio_token_cost": 1e-06,
     "input_cost_per_image_token": 2e-06, "output_cost_per_image_token": 3e-05`,
    { ...BASE, audio_input: '10.00', cached_audio_input: '1.00', image_input: '2.00', image_output: '30.00' },
  ],
  [
    'a price of an image is one of its tokens where the list has both',
    `${CHAT}, "output_cost_per_image": 0.039, "output_cost_per_image_token": 3e-05`,
    { ...BASE, image_output: '30.00' },
  ],
  [
    'a model for images is imported with prices of text and images a token',
    `${CHAT.replace('chat', 'image_generation')}, "output_cost_per_image_token": 3e-05, "output_cost_per_image": 0.039, "max_output_tokens": 32768`,
    { ...BASE, image_output: '30.00', max_output: 32_768 },
  ],
  [
    'a tier without prices of audio and images has none of its own: it inherits them',
    `${CHAT}, "input_cost_per_audio_token": 1e-05, "output_cost_per_image_token": 3e-05,
     "input_cost_per_token_priority": 3e-07, "output_cost_per_token_priority": 1.2e-06`,
    {
      ...BASE,
      audio_input: '10.00',
      image_output: '30.00',
      service_tiers: { priority: { input: '0.30', output: '1.20', tools: {} } },
    },
  ],
  [
    'what is kept for twelve hours has the price of what is kept long',
    `${CHAT}, "cache_creation_input_token_cost": 2e-07, "cache_creation_input_token_cost_above_12hr": 4e-07`,
    { ...BASE, cache_write: '0.20', cache_write_1h: '0.40' },
  ],
  ['an optional price of zero is that of input', `${CHAT}, "cache_creation_input_token_cost": 0.0`, BASE],
  [
    'long requests have prices of their own',
    `${CHAT}, "input_cost_per_token_above_200k_tokens": 3e-07, "output_cost_per_token_above_200k_tokens": 9e-07`,
    { ...BASE, above: { tokens: 200_000, input: '0.30', output: '0.90' } },
  ],
  [
    'so do service tiers',
    `${CHAT}, "input_cost_per_token_flex": 7.5e-08, "output_cost_per_token_flex": 3e-07, "input_cost_per_token_priority": 1e-06`,
    { ...BASE, service_tiers: { flex: { input: '0.075000', output: '0.30', tools: {} } } },
  ],
  [
    'a search costs what one of medium size does, and one of high size has a price of its own',
    `${CHAT}, "search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_medium": 0.02, "search_context_size_high": 0.05}`,
    { ...BASE, tools: search('0.02', '0.05') },
  ],
  [
    'a search costs what the costliest does where the list has no medium size',
    `${CHAT}, "search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_high": 0.05}`,
    { ...BASE, tools: search('0.05', '0.05') },
  ],
  [
    'limits come along',
    `${CHAT}, "max_input_tokens": 128000, "max_output_tokens": 16384, "max_tokens": 5`,
    { ...BASE, context_window: 128_000, max_output: 16_384 },
  ],
  [
    'so does what a model reads, if the list says anything of it',
    `${CHAT}, "supports_vision": true, "supports_pdf_input": false, "supports_audio_input": true, "supports_tools": true`,
    { ...BASE, reads: ['image', 'audio'] },
  ],
  [
    'an embedding has no output',
    '"mode": "embedding", "input_cost_per_token": 2e-08, "output_cost_per_token": 0',
    { input: '0.02', output: '0.00', tools: {}, service_tiers: {} },
  ],
  ['reasoning at the price of output is output', `${CHAT}, "output_cost_per_reasoning_token": 6e-07`, BASE],
];

const LEFT_OUT: readonly (readonly [reason: string, fields: string])[] = [
  ['mode', CHAT.replace('chat', 'image_generation')],
  ['no_price', '"mode": "chat", "input_cost_per_token": 1e-07'],
  ['no_price', '"mode": "chat"'],
  ['zero', '"mode": "chat", "input_cost_per_token": 0.0, "output_cost_per_token": 1e-07'],
  ['zero', '"mode": "chat", "input_cost_per_token": 1e-07, "output_cost_per_token": 0'],
  ['zero', '"mode": "embedding", "input_cost_per_token": 0'],
  ['no_number', CHAT.replace('6e-07', '-6e-07')],
  ['no_number', CHAT.replace('6e-07', 'NaN')],
  ['no_number', CHAT.replace('6e-07', 'Infinity')],
  ['no_number', CHAT.replace('6e-07', '"6e-07"')],
  ['no_number', `${CHAT}, "cache_read_input_token_cost": -1e-08`],
  ['other_unit', '"mode": "chat", "input_cost_per_character": 1e-07, "output_cost_per_character": 1e-07'],
  ['other_unit', `${CHAT}, "input_cost_per_second": 0.001`],
  ['other_unit', `${CHAT}, "output_cost_per_image": 0.04`],
  ['special_tokens', `${CHAT}, "output_cost_per_video_token": 3e-05`],
  ['mode', `${CHAT.replace('chat', 'image_generation')}, "output_cost_per_image": 0.039`],
  ['special_tokens', `${CHAT}, "output_cost_per_reasoning_token": 3e-06`],
  [
    'lengths',
    `${CHAT}, "input_cost_per_token_above_128k_tokens": 3e-07, "input_cost_per_token_above_256k_tokens": 6e-07`,
  ],
  ['lengths', `${CHAT}, "tiered_pricing": [{"range": [0, 1000], "input_cost_per_token": 1e-07}]`],
  [
    'lengths',
    `${CHAT}, "cache_creation_input_token_cost": 2e-07, "input_cost_per_token_above_200k_tokens": 3e-07,
     "cache_creation_input_token_cost_above_200k_tokens": 5e-07`,
  ],
];

describe('an entry of the price list', () => {
  for (const [name, fields, expected] of IMPORTED) {
    test(name, () => assert.deepEqual(judged(fields), expected));
  }
  for (const [reason, fields] of LEFT_OUT) {
    test(`is not imported: ${reason} ${fields.slice(0, 60)}`, () => assert.equal(judged(fields), reason));
  }
  test('needs both prices of cache writes for kind anthropic', () => {
    const written = `${CHAT}, "cache_creation_input_token_cost": 2e-07`;
    assert.equal(judged(written, { billsCacheWrites: true }), 'cache_writes');
    const both = `${written}, "cache_creation_input_token_cost_above_1hr": 3e-07`;
    assert.equal(typeof judged(both, { billsCacheWrites: true }), 'object');
  });
  test('that searches whatever it is asked is not imported', () => {
    const searching = `${CHAT}, "search_context_cost_per_query": {"search_context_size_low": 0.01}`;
    assert.equal(judged(searching, { bundlesSearch: true }), 'search');
    assert.deepEqual(judged(CHAT, { bundlesSearch: true }), BASE);
  });
});

const OPENAI = '"litellm_provider": "openai"';
const LIST = readPriceList(
  `{
    "sample_spec": { "litellm_provider": "one of" },
    "gpt-a": { ${OPENAI}, ${CHAT} },
    "openai/gpt-b": { ${OPENAI}, ${CHAT} },
    "openai/gpt-a": { ${OPENAI}, ${CHAT} },
    "twice": { ${OPENAI}, ${CHAT} },
    "openai/twice": { ${OPENAI}, ${CHAT.replace('6e-07', '7e-07')} },
    "eu/gpt-a": { ${OPENAI}, ${CHAT} },
    "ft:gpt-a": { ${OPENAI}, ${CHAT} },
    "a name": { ${OPENAI}, ${CHAT} },
    "free": { ${OPENAI}, "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0 },
    "openrouter/vendor/c": { "litellm_provider": "openrouter", ${CHAT} },
    "own/d": { "litellm_provider": "own", ${CHAT} },
    "other/e": { "litellm_provider": "other", ${CHAT} }
  }`,
  'list.json',
);
const CONFIG = load(`providers:
  any: { kind: openai, base_url: "https://api.openai.com/v1", models: { gpt-a: { input: 0.1, output: 0.6 } } }
  router: { kind: openai, base_url: "https://openrouter.ai/api/v1", models: {} }
  own: { kind: openai, base_url: "http://127.0.0.1:1", models: {} }
  unknown: { kind: openai, base_url: "http://127.0.0.1:1", models: {} }
`);

test('entries go to the provider at their host, else to the one of their name', () => {
  const { prices, matches, skipped, others } = selectPrices(LIST, CONFIG.providers);
  assert.deepEqual(
    Object.entries(prices).map(([provider, models]) => [provider, Object.keys(models)]),
    [
      ['any', ['gpt-a', 'gpt-b']],
      ['router', ['vendor/c']],
      ['own', ['d']],
    ],
  );
  assert.deepEqual(
    matches.map(({ by }) => by),
    ['host', 'host', 'name', undefined],
  );
  assert.equal(others, 1);
  const found = [...skipped].filter(([, names]) => names.length > 0);
  assert.deepEqual(Object.fromEntries(found), {
    zero: ['any: free'],
    variant: ['any: eu/gpt-a', 'any: ft:gpt-a'],
    name: ['any: a name'],
    twice: ['any: twice'],
  });
});

test('entries go to providers of the clouds by their kind, wherever their hosts are', () => {
  const claude = `${CHAT}, "cache_creation_input_token_cost": 2e-07`;
  const hour = '"cache_creation_input_token_cost_above_1hr": 3e-07';
  const list = readPriceList(
    `{
      "gemini-a": { "litellm_provider": "vertex_ai-language-models", ${CHAT} },
      "vertex_ai/gemini-b": { "litellm_provider": "vertex_ai", ${CHAT} },
      "vertex_ai/claude-a@20250929": { "litellm_provider": "vertex_ai-anthropic_models", ${claude}, ${hour} },
      "vertex_ai/claude-b": { "litellm_provider": "vertex_ai-anthropic_models", ${claude} },
      "text-embedding-a": { "litellm_provider": "vertex_ai-embedding-models", "mode": "embedding", "input_cost_per_token": 2e-08 },
      "vertex_ai/meta/llama": { "litellm_provider": "vertex_ai", ${CHAT} },
      "vertex_ai/llama": { "litellm_provider": "vertex_ai-llama_models", ${CHAT} },
      "eu.anthropic.claude-a-v1:0": { "litellm_provider": "bedrock_converse", ${claude}, ${hour} },
      "anthropic.claude-b-v1:0": { "litellm_provider": "bedrock", ${claude} },
      "amazon.nova-a-v1:0": { "litellm_provider": "bedrock_converse", ${CHAT} },
      "azure/gpt-a": { "litellm_provider": "azure", ${CHAT} },
      "azure/eu/gpt-a": { "litellm_provider": "azure", ${CHAT} },
      "azure_ai/grok-a": { "litellm_provider": "azure_ai", ${CHAT} },
      "bedrock/us-west-2/anthropic.claude-a-v1:0": { "litellm_provider": "bedrock", ${claude}, ${hour} }
    }`,
    'list.json',
  );
  const { providers } = load(`providers:
    amazon: { kind: bedrock, region: eu-west-1, base_url: "https://vpce.example", models: {} }
    cloud: { kind: vertex, project: my-project, region: global, models: {} }
    microsoft: { kind: azure, base_url: "https://apim.example/openai/v1", models: {} }
  `);
  const { prices, matches, skipped, others } = selectPrices(list, providers);
  assert.deepEqual(
    Object.entries(prices).map(([provider, models]) => [provider, Object.keys(models)]),
    [
      ['amazon', ['amazon.nova-a-v1:0', 'eu.anthropic.claude-a-v1:0']],
      ['cloud', ['claude-a@20250929', 'gemini-a', 'gemini-b', 'text-embedding-a']],
      ['microsoft', ['gpt-a', 'grok-a']],
    ],
  );
  assert.deepEqual([matches.map(({ by }) => by), others], [['kind', 'kind', 'kind'], 1]);
  const found = [...skipped].filter(([, names]) => names.length > 0);
  assert.deepEqual(Object.fromEntries(found), {
    variant: [
      'amazon: bedrock/us-west-2/anthropic.claude-a-v1:0',
      'cloud: vertex_ai/meta/llama',
      'microsoft: azure/eu/gpt-a',
    ],
    cache_writes: ['amazon: anthropic.claude-b-v1:0', 'cloud: vertex_ai/claude-b'],
  });
});

test("a search of Google's models has the name of Google's tool", () => {
  const costs =
    '{"search_context_size_low": 0.02, "search_context_size_medium": 0.02, "search_context_size_high": 0.035}';
  const searching = `${CHAT}, "search_context_cost_per_query": ${costs}`;
  const writes = '"cache_creation_input_token_cost": 2e-07, "cache_creation_input_token_cost_above_1hr": 3e-07';
  const list = readPriceList(
    `{
      "gemini/gemini-a": { "litellm_provider": "gemini", ${searching} },
      "gemini-a": { "litellm_provider": "vertex_ai-language-models", ${searching} },
      "vertex_ai/claude-a": { "litellm_provider": "vertex_ai-anthropic_models", ${searching}, ${writes} }
    }`,
    'list.json',
  );
  const { providers } = load(`providers:
    google: { kind: gemini, models: {} }
    cloud: { kind: vertex, project: my-project, region: global, models: {} }
  `);
  const { google, cloud } = selectPrices(list, providers).prices;
  const tool = { google_search: { call: '0.035000', variants: [] } };
  assert.deepEqual([google?.['gemini-a']?.tools, cloud?.['gemini-a']?.tools].map(plain), [tool, tool]);
  assert.deepEqual(plain(cloud?.['claude-a']?.tools), search('0.02', '0.035000'));
});

test('the changes are those against the price file, and against the config, which wins', () => {
  const { prices: after } = selectPrices(LIST, CONFIG.providers);
  const gptB = after.any?.['gpt-b'];
  assert.ok(gptB !== undefined);
  const before = { any: { 'gpt-b': { ...gptB, output: 1_000_000_000n }, old: gptB }, own: { ...after.own } };
  const { changes, unchanged } = changesOf(before, after, CONFIG.providers);
  assert.equal(unchanged, 1);
  assert.deepEqual(
    changes.map(({ model, kind, fields }) => [model, kind, ...fields.map((f) => `${f.field} ${f.from} ${f.to}`)]),
    [
      [
        'any/gpt-a',
        'config',
        'input 0.10 0.15',
        'cached_input 0.10 0.15',
        'cache_write 0.10 0.15',
        'cache_write_1h 0.10 0.15',
      ],
      ['any/gpt-b', 'changed', 'output 1.00 0.60'],
      ['any/old', 'gone', 'input 0.15 undefined', 'output 0.60 undefined'],
      ['router/vendor/c', 'added', 'input undefined 0.15', 'output undefined 0.60'],
    ],
  );
});

test('what is no price list is an error that says so', () => {
  for (const text of ['{"a": 1', '[]', '{}', '{"m": {"input_cost_per_token": 1}}', '5']) {
    assert.throws(() => readPriceList(text, 'list.json'), UserError, text);
  }
  assert.throws(() => readPriceList('{\n"a": ,', 'list.json'), /^UserError: list\.json: not JSON: .+$/);
});
