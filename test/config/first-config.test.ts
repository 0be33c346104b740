/** The config that `init` writes, and the example that it is made of: what loads, and for whom. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isActive, type ProviderConfig } from '../../src/config/config.ts';
import {
  activeProviders,
  configWith,
  EXAMPLE,
  EXAMPLE_PROVIDERS,
  UNADDRESSED_PROVIDERS,
} from '../../src/config/example.ts';
import { loadConfig } from '../../src/config/load.ts';
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

const text = projectFile('config.example.yaml');

/** From a copy: beside the file itself a developer may have a .env. */
function providers(environment: NodeJS.ProcessEnv): readonly ProviderConfig[] {
  return load(text, environment).providers;
}

function activeOf(environment: NodeJS.ProcessEnv): string[] {
  return providers(environment).flatMap(({ name, missingVariable }) => (missingVariable === undefined ? [name] : []));
}

test('without environment variables only the mock is active, with all of them everything is', () => {
  assert.deepEqual(activeOf({}), ['mock']);
  const variables = [...text.matchAll(/api_key: \$\{(\w+)\}/g)].map(([, name]) => name as string);
  assert.ok(variables.length >= 5);
  assert.deepEqual(
    activeOf(Object.fromEntries(variables.map((name) => [name, 'secret']))),
    providers({}).map(({ name }) => name),
  );
});

test('it has about 25 models of eight providers, and says of which month their prices are', () => {
  const hosts = providers({}).filter(({ kind }) => kind !== 'mock');
  assert.equal(hosts.length, 8);
  const models = hosts.flatMap((host) => host.models);
  assert.ok(models.length >= 20 && models.length <= 30, `${models.length} models`);
  for (const { name, input, cachedInput, output } of models) {
    assert.ok(input > 0n && output > input && cachedInput <= input, name);
  }
  assert.match(text, /[Pp]rices.* 20\d\d-(0[1-9]|1[0-2])\b/);
});

test('every model that an agent reaches in its own dialect has prices for the search that agents always send', () => {
  const searching = providers({}).filter(
    ({ kind, dialects }) => kind === 'anthropic' || dialects.includes('responses'),
  );
  const ids = searching
    .filter(({ kind }) => kind !== 'mock')
    .flatMap(({ name, models }) => models.map((model) => [`${name}/${model.name}`, model.tools.has('web_search')]));
  assert.ok(ids.length > 10);
  for (const [id, isPriced] of ids) assert.ok(isPriced, `${id} refuses every request of Codex`);
});

test('the settings it shows are the defaults, so that removing a line changes nothing', () => {
  const shown = load(text);
  const { providers: _, path: _path, modifiedAtS: _time, ...others } = shown;
  const { state: _state, statePath: _shown, cachePath: _cache, ...settings } = others;
  const byDefault = loadConfig({ environment: {}, directory: '/nowhere' });
  assert.partialDeepStrictEqual(byDefault, settings);
});

test('its commented-out parts load when uncommented', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-example-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const start = text.indexOf('  # local:');
  assert.ok(start > 0);
  const uncommented = text.slice(0, start) + text.slice(start).replaceAll(/^ {2}# /gm, '  ');
  writeFileSync(join(directory, 'config.yaml'), uncommented);
  const local = loadConfig({ environment: {}, directory }).providers.at(-1);
  assert.equal(local?.name, 'local');
  assert.equal(local?.missingVariable, undefined, 'a model of your own needs no key');
  assert.equal(local?.models.length, 1);
});
