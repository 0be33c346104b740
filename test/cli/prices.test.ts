/** `prices import`: what it writes and says, and that a running gateway serves it at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Workplace } from '../support/cli.ts';

const CONFIG = `listen: 127.0.0.1:0
state: ./state.db
prices: ./prices.yaml
providers:
  own: { kind: openai, base_url: "http://127.0.0.1:9/v1", models: { "*": {}, set: { input: 1, output: 2 } } }
`;
const FIRST_PRICES =
  'imported_at: 2026-01-01T00:00:00Z\nsource: hand\nproviders: { own: { old: { input: 1, output: 2 } } }\n';

function list(models: Readonly<Record<string, string>>): string {
  const entries = Object.entries(models).map(
    ([name, prices]) => `"own/${name}": {"litellm_provider": "own", ${prices}}`,
  );
  return `{${entries.join(', ')}}`;
}
const PRICE = '"mode": "chat", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07';
const FREE = '"mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0';

interface ImportJson {
  readonly path: string;
  readonly imported_at: string;
  readonly changes: readonly { readonly model: string; readonly change: string; readonly fields: object }[];
  readonly unchanged: number;
  readonly skipped: readonly { readonly reason: string; readonly count: number; readonly entries: readonly string[] }[];
  readonly reloaded: boolean;
}

test('an import shows what changes, and a running gateway serves it when the command returns', async (t) => {
  const place = new Workplace(t, CONFIG);
  place.write('prices.yaml', FIRST_PRICES);
  const { key } = await place.createKey('app');
  const serving = await place.serveHere();
  place.write('list.json', list({ new: PRICE, free: FREE, set: PRICE }));
  const imported = await place.json<ImportJson>('prices', 'import', 'list.json');
  assert.match(imported.imported_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
  assert.equal(imported.reloaded, true);
  assert.deepEqual(
    imported.changes.map(({ model, change }) => `${model} ${change}`),
    ['own/new added', 'own/old gone', 'own/set config'],
  );
  assert.deepEqual(imported.changes[0]?.fields, {
    input: { from: null, to: '0.15' },
    output: { from: null, to: '0.60' },
  });
  assert.deepEqual(imported.skipped, [
    {
      reason: 'zero',
      message: 'has a price of zero, and nothing is served for free by accident',
      count: 1,
      entries: ['own: own/free'],
    },
  ]);

  const listing = await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await listing.json()) as { data: { id: string }[] };
  assert.deepEqual(
    data.map(({ id }) => id),
    ['own/set', 'own/new'],
  );
  assert.equal(await serving.chatOutcome(key, { model: 'own/free' }), '404 model_not_found');
  assert.equal(await serving.chatOutcome(key, { model: 'own/old' }), '404 model_not_found');
  assert.equal(await serving.chatOutcome(key, { model: 'own/new' }), '402 insufficient_credit');

  // What cannot be used leaves everything as it was.
  const before = place.read('prices.yaml');
  place.write('free.json', list({ new: FREE }));
  const failed = await place.run(['prices', 'import', 'free.json']);
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /nothing to import: no entry for own can be used .*; nothing was written$/m);
  assert.deepEqual(place.read('prices.yaml'), before);
});

test('a first import needs no price file, and says what the config lacks', async (t) => {
  const place = new Workplace(t, CONFIG.replace('prices: ./prices.yaml\n', '').replace('"*": {}, ', ''));
  place.write('list.json', list({ new: PRICE }));
  const { status, stdout, stderr } = await place.run(['prices', 'import', 'list.json']);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /own\/new +added +0\.15 +0\.60\n/);
  assert.match(stdout, /1 added, 0 changed, 0 gone, 0 unchanged\.\n/);
  assert.match(stderr, /add `prices: \.\/prices\.yaml`, and `models: \{ "\*": \{\} \}`/);
  const [missing, none] = await place.runAll([
    ['prices', 'import', 'none.json'],
    ['prices', 'import', 'state.db'],
  ]);
  assert.match(missing?.stderr ?? '', /cannot read none\.json \(ENOENT\)/);
  assert.equal(none?.status, 1);
});
