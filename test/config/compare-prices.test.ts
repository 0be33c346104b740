/** The script that compares prices with the community's list finds each kind of slip, and nothing where there is none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparePrices, type KnownDifference } from '../../scripts/compare-prices.ts';
import { load } from '../support/configs.ts';

const LISTED = {
  litellm_provider: 'openai',
  mode: 'chat',
  max_input_tokens: 1_050_000,
  max_output_tokens: 128_000,
  input_cost_per_token: 2.5e-6,
  cache_read_input_token_cost: 2.5e-7,
  output_cost_per_token: 1.5e-5,
  input_cost_per_token_above_272k_tokens: 5e-6,
  cache_read_input_token_cost_above_272k_tokens: 5e-7,
  output_cost_per_token_above_272k_tokens: 2.25e-5,
  input_cost_per_token_priority: 5e-6,
  output_cost_per_token_priority: 3e-5,
  search_context_cost_per_query: { search_context_size_high: 0.01 },
};

/** The model as the list has it. */
const ALIKE =
  '{ input: 2.5, cached_input: 0.25, output: 15, context_window: 1050000, max_output: 128000, tools: { web_search: 0.01 }, ' +
  'above: { tokens: 272000, input: 5, cached_input: 0.5, output: 22.5 }, ' +
  'service_tiers: { priority: { input: 5, output: 30 } } }';

function compared(model: string, listed: Readonly<Record<string, object>>, known: readonly KnownDifference[] = []) {
  const config = load(`providers:
  mock: { kind: mock, models: { echo: { input: 0, output: 0 } } }
  openai: { kind: openai, base_url: https://api.openai.com/v1, models: { big: ${model} } }`);
  const { differences, stale } = comparePrices(config, JSON.stringify(listed), known);
  return {
    differences: differences.map(({ model: id, field, config: ours, list }) => [id, field, ours, list]),
    stale: stale.map(({ field }) => field),
  };
}

test('prices that are alike have no differences, whatever else the config says of the model', () => {
  const own = ALIKE.replace('{', '{ hold_output: 4096, default_output: 100, ');
  assert.deepEqual(compared(own, { big: LISTED }), { differences: [], stale: [] });
});

test('models of the clouds are compared by the names that their hosts have for them', () => {
  const own = (upstream: string) =>
    ALIKE.replace('{', `{ upstream: "${upstream}",`).replace('input: 2.5', 'input: 2.4');
  const config = load(`providers:
  amazon: { kind: bedrock, region: eu-west-1, models: { nova: ${own('eu.amazon.nova-a-v1:0')} } }
  cloud: { kind: vertex, project: my-project, region: global, models: { flash: ${own('gemini-a').replace('web_search', 'google_search')} } }`);
  const list = {
    'eu.amazon.nova-a-v1:0': { ...LISTED, litellm_provider: 'bedrock_converse' },
    'gemini-a': { ...LISTED, litellm_provider: 'vertex_ai-language-models' },
  };
  assert.deepEqual(
    comparePrices(config, JSON.stringify(list), []).differences.map(({ model, field }) => `${model} ${field}`),
    ['amazon/nova input', 'cloud/flash input'],
  );
});

/** A slip in the config, the field that it is in, and its value there and in the list. */
const SLIPS: readonly (readonly [slip: string, by: string, field: string, ours: string | undefined, list: string])[] = [
  ['272000', '270000', 'above.tokens', '270000', '272000'],
  ['cached_input: 0.5,', 'cached_input: 0.05,', 'above.cached_input', '0.05', '0.5'],
  [' input: 2.5,', ' input: 2.4,', 'input', '2.4', '2.5'],
  ['cached_input: 0.25,', '', 'cached_input', undefined, '0.25'],
  ['tools: { web_search: 0.01 }, ', '', 'tools.web_search', undefined, '0.01'],
  ['output: 30', 'output: 15', 'service_tiers.priority.output', '15', '30'],
  ['max_output: 128000', 'max_output: 12800', 'max_output', '12800', '128000'],
  ['context_window: 1050000, ', '', 'context_window', undefined, '1050000'],
];

for (const [slip, by, field, ours, list] of SLIPS) {
  test(`a slip in ${field} is named`, () => {
    const { differences } = compared(ALIKE.replace(slip, by), { big: LISTED });
    assert.deepEqual(differences, [['openai/big', field, ours, list]]);
  });
}

test('a tier that the config lacks is named by its prices', () => {
  const { differences } = compared(ALIKE.replace('service_tiers: { priority: { input: 5, output: 30 } }', ''), {
    big: LISTED,
  });
  const fields = differences.map(([, field]) => field);
  assert.ok(fields.includes('service_tiers.priority.input') && fields.includes('service_tiers.priority.output'));
  assert.ok(fields.every((field) => field?.startsWith('service_tiers.priority.')));
});

test('a model that the list lacks, or that cannot be compared, is named', () => {
  const other = { other: LISTED };
  assert.deepEqual(compared(ALIKE, other).differences, [['openai/big', 'model', 'served', undefined]]);
  const [[, , , why] = []] = compared(ALIKE, { ...other, big: { ...LISTED, mode: 'image_generation' } }).differences;
  assert.match(why ?? '', /^not comparable: it is not a model for chat/);
});

test('known differences are left out, and named once there are none of them', () => {
  const known = (field: string) => ({ model: 'openai/*', field, why: 'a reason' });
  const slip = ALIKE.replace('272000', '270000');
  assert.deepEqual(compared(slip, { big: LISTED }, [known('above.*'), known('max_output')]), {
    differences: [],
    stale: ['max_output'],
  });
  assert.equal(
    compared(slip, { big: LISTED }, [known('above')]).differences.length,
    1,
    'a name without a star is whole',
  );
});
