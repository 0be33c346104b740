/** The example config that `npm start` copies: it loads unchanged, and its catalog is useful. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ProviderConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { load } from '../support/configs.ts';
import { projectFile } from '../support/sources.ts';

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
