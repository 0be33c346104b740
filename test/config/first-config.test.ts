/** The config that `init` writes: the example's own entries, for the providers whose variables are set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isActive } from '../../src/config/config.ts';
import {
  activeProviders,
  configWith,
  EXAMPLE,
  EXAMPLE_PROVIDERS,
  UNADDRESSED_PROVIDERS,
} from '../../src/config/example.ts';
import { load } from '../support/configs.ts';
import { projectFile } from '../support/sources.ts';

const keyed = EXAMPLE_PROVIDERS.filter(({ variables }) => variables.length > 0);
const environmentOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'secret']));

test('every provider of the example is known with its variables, and every variable of docs/providers.md', () => {
  const example = load(EXAMPLE, {});
  assert.deepEqual(
    EXAMPLE_PROVIDERS.map(({ name, variables }) => [name, variables[0]]),
    example.providers.map(({ name, missingVariable }) => [name, missingVariable]),
  );
  const known = [...keyed.flatMap(({ variables }) => variables), ...UNADDRESSED_PROVIDERS.map((each) => each.variable)];
  const documented = [...projectFile('docs/providers.md').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? '');
  assert.ok(documented.length >= 8);
  assert.deepEqual(
    documented.filter((name) => !known.includes(name)),
    [],
  );
});

test('whatever is set, the config has exactly that, at the prices of the example, and no warnings', () => {
  const rows = [
    [],
    ...keyed.map(({ variables }) => [variables.at(-1) ?? '']),
    keyed.map(({ variables }) => variables[0] ?? ''),
  ];
  for (const names of rows) {
    const environment = { ...environmentOf(names), HOME: '/root', constructor: 'none' };
    const { providers, warnings } = load(configWith(activeProviders(environment)), environment);
    assert.deepEqual(warnings, []);
    assert.ok(providers.every(isActive), names.join());
    assert.equal(providers.length, 1 + names.length, names.join());
    const example = load(EXAMPLE, environmentOf(keyed.map(({ variables }) => variables[0] ?? '')));
    for (const { name, models } of providers) {
      assert.deepEqual(models, example.providers.find((each) => each.name === name)?.models);
    }
  }
});

test('of two variables for one key the usual one counts, and a blank one is not set', () => {
  const both = { GEMINI_API_KEY: 'a', GOOGLE_API_KEY: 'b' };
  const variablesOf = (environment: NodeJS.ProcessEnv) => activeProviders(environment).map(({ variable }) => variable);
  assert.deepEqual(variablesOf(both), [undefined, 'GEMINI_API_KEY']);
  assert.deepEqual(variablesOf({ ...both, GEMINI_API_KEY: ' ' }), [undefined, 'GOOGLE_API_KEY']);
});

test('it shows the address, the state, the tiers and the credit as the example does', () => {
  const settingsOf = (text: string) => {
    const { listen, state, tierName, tier, creditEnforced } = load(text, {});
    return { listen, state, tierName, tier, creditEnforced };
  };
  const text = configWith(activeProviders({}));
  for (const field of ['listen', 'state', 'tier', 'tiers', 'credit']) assert.match(text, new RegExp(`^${field}:`, 'm'));
  assert.deepEqual(settingsOf(text), settingsOf(EXAMPLE));
  assert.match(text, /\$\{NAME\} is .*\n(?:#.*\n)*# Prices are USD per million tokens/);
});

test('the entries that also need an address load when uncommented', () => {
  const start = EXAMPLE.indexOf('  # azure:');
  const uncommented = EXAMPLE.slice(0, start) + EXAMPLE.slice(start).replaceAll(/^ {2}# (?=\w+:$| )/gm, '  ');
  const variables = UNADDRESSED_PROVIDERS.map(({ variable }) => variable);
  const active = load(uncommented, environmentOf(variables)).providers.filter(isActive);
  assert.deepEqual(
    active.map(({ name }) => name),
    ['mock', ...UNADDRESSED_PROVIDERS.map(({ name }) => name), 'vertex', 'local'],
  );
  assert.deepEqual(variables, ['AZURE_OPENAI_API_KEY', 'AZURE_FOUNDRY_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK']);
});
