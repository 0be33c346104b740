/** The price file that a config includes: what is served from it, what wins, and where its faults are. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Catalog } from '../../src/catalog/catalog.ts';
import { parsePriceFile } from '../../src/config/price-file.ts';
import { writePriceFile } from '../../src/config/price-list/write.ts';
import { UserError } from '../../src/core/errors.ts';
import { formatUsd } from '../../src/core/money.ts';
import { directory, load, problemsOf } from '../support/configs.ts';

const PATH = join(directory, 'prices.yaml');

function prices(models: string, provider = 'p'): void {
  writeFileSync(
    PATH,
    `imported_at: 2026-11-22T08:30:00Z\nsource: list.json\nproviders: { ${provider}: { ${models} } }\n`,
  );
}

function config(models: string, kind = 'openai'): string {
  return `prices: ./prices.yaml\nproviders: { p: { kind: ${kind}, base_url: "http://h.example", models: { ${models} } } }`;
}

/** `name input/output`, with the day of the price file where that has the prices. */
function served(models: string, kind?: string): string[] {
  return new Catalog(load(config(models, kind)).providers).models.map(
    ({ id, input, output, pricesOf }) =>
      `${id} ${formatUsd(input)}/${formatUsd(output)}${pricesOf === undefined ? '' : ` ${pricesOf}`}`,
  );
}

describe('a price file', () => {
  test('has the prices of every model that * serves', () => {
    prices('a: { input: 1, output: 2 }, b/c: { input: 0.5, output: 0.25 }');
    assert.deepEqual(served('"*": {}'), ['p/a 1.00/2.00 2026-11-22', 'p/b/c 0.50/0.25 2026-11-22']);
  });

  test('gives way to prices in the config, and to each field there', () => {
    prices('a: { input: 1, output: 2 }, b: { input: 1, output: 2, max_output: 100, context_window: 9 }');
    assert.deepEqual(served('"*": {}, a: { input: 3, output: 4 }'), ['p/a 3.00/4.00', 'p/b 1.00/2.00 2026-11-22']);
    const [b] = load(config('b: { max_output: 50, tools: { web_search: 0.01 } }')).providers[0]?.models ?? [];
    assert.deepEqual([b?.maxOutput, b?.contextWindow, b?.tools.get('web_search')?.call], [50, 9, 10_000_000n]);
  });

  test('has the prices of models that the config lists without, by the name at the host', () => {
    prices('a: { input: 1, output: 2 }');
    assert.deepEqual(served('a: {}, mine: { upstream: a }'), [
      'p/a 1.00/2.00 2026-11-22',
      'p/mine 1.00/2.00 2026-11-22',
    ]);
  });

  test('serves no model without a price, and says so', () => {
    prices('a: { input: 1, output: 2 }, w: { input: 1, output: 2, cache_write: 1 }');
    const { providers, warnings } = load(config('none: {}, "*": {}', 'anthropic'));
    assert.deepEqual(providers[0]?.models, []);
    assert.equal(warnings.length, 3);
    assert.match(warnings[0] ?? '', /^providers\.p\.models\.none: it has no price, here or in the price file/);
    assert.match(
      warnings[1] ?? '',
      /models\.a: it is not served, since the price file has no cache_write and cache_write_1h/,
    );
    prices('a: { input: 1, output: 2 }', 'another');
    assert.match(load(config('"*": {}')).warnings[0] ?? '', /models\.\*: no other model has a price/);
  });

  test('gives all of its models what * says', () => {
    prices('a: { input: 1, output: 2, tools: { web_search: 0.02 } }');
    const [a] = load(config('"*": { default_output: 7, tools: { file_search: 0.01 } }')).providers[0]?.models ?? [];
    assert.equal(a?.defaultOutput, 7);
    assert.deepEqual([...(a?.tools.keys() ?? [])].toSorted(), ['file_search', 'web_search']);
  });

  test('is told from a model that a fallback names', () => {
    prices('a: { input: 1, output: 2 }');
    assert.deepEqual(problemsOf(config('"*": {}, b: { input: 1, output: 1, fallback: [p/a, p/gone] }')), []);
  });
});

const FAULTS: readonly (readonly [contents: string, problem: RegExp])[] = [
  [
    '{ "imported_at": "2026-11-22T08:30:00Z", "source": "l", "providers": {\n"p": { "a": { "input": -1, "output": 1 } } } }',
    /^prices\.yaml:2:15: providers\.p\.a\.input: expected a price/,
  ],
  [
    'imported_at: 2026-11-22T08:30:00Z\nsource: l\nproviders:\n  p:\n    a: { input: 0, output: 1 }\n',
    /^prices\.yaml:5:10: providers\.p\.a\.input: .*above 0/,
  ],
  [
    'imported_at: 2026-11-22T08:30:00Z\nsource: l\nproviders:\n  p:\n    a: { output: 1 }\n',
    /^prices\.yaml:5:5: providers\.p\.a\.input: expected a price/,
  ],
  ['imported_at: today\nsource: l\nproviders: {}\n', /^prices\.yaml:1:1: imported_at: expected a time/],
  ['imported_at: 2026-11-22T08:30:00Z\nsource: l\nproviders: {}\nmore: 1\n', /^prices\.yaml:4:1: more: unknown key/],
  ['a: [', /^prices\.yaml:\d+:\d+: /],
];

test('an error in the price file is named with its file and place, and so are those in the config', () => {
  for (const [contents, problem] of FAULTS) {
    writeFileSync(PATH, contents);
    const [first = '', second] = problemsOf(config('"*": {}'));
    assert.match(first, problem);
    assert.equal(second, undefined);
  }
  assert.match(problemsOf(`threads: x\n${config('"*": {}')}`).join('\n'), /^1:1: threads: expected.*\nprices\.yaml:/s);
});

const WRONG: readonly (readonly [config: string, problem: RegExp])[] = [
  [config('"*": {}').replace('./prices.yaml', './none.yaml'), /^1:1: prices: there is no price file .*prices import/],
  [config('"*": {}').replace('prices: ./prices.yaml\n', ''), /models\.\*: expected a price file/],
  [config('a: {}').replace('prices: ./prices.yaml\n', ''), /models\.a\.input: expected a price/],
  [config('a: { input: 1 }'), /models\.a\.output: expected a price/],
  [config('"*": { input: 1, output: 1 }'), /models\.\*\.input: expected only tools, default_output/],
  [config('"*": { upstream: a }'), /models\.\*\.upstream: expected only/],
];

test('a config that cannot use its price file is an error', () => {
  prices('a: { input: 1, output: 2 }');
  for (const [text, problem] of WRONG) assert.match(problemsOf(text).join('\n'), problem);
});

const TOOLS = {
  web_search: { call: 10_000_000n, tokens: 8_000, variants: [{ search_context_size: 'high', call: 25_000_000n }] },
  mcp: { call: 0n, variants: [] },
};
const ENTRY = { input: 150_000_000n, cached_input: 1n, output: 600_000_000n, tools: TOOLS };
const FILE = {
  importedAt: '2026-11-22T08:30:00Z',
  source: 'list "x".json',
  providers: { p: { 'a/b:c': { ...ENTRY, service_tiers: { flex: { ...ENTRY, tools: {} } }, max_output: 5 } } },
};

describe('a written price file', () => {
  test('reads as what was written', () => {
    writePriceFile(PATH, FILE as never);
    const text = readFileSync(PATH, 'utf8');
    const read = parsePriceFile(text, 'prices.yaml');
    assert.deepEqual(read, FILE);
    // As YAML, which it is once somebody has edited it.
    assert.deepEqual(parsePriceFile(`${text}# edited\n`, 'prices.yaml'), FILE);
  });

  test('leaves the old one as it was if it cannot be written', () => {
    const folder = join(directory, 'blocked');
    const path = join(folder, 'prices.yaml');
    mkdirSync(path, { recursive: true });
    assert.throws(() => writePriceFile(path, FILE as never), UserError);
    assert.deepEqual(readdirSync(folder), ['prices.yaml']);
    const bad = { ...FILE, providers: { p: { a: { ...ENTRY, service_tiers: {}, input: 0n } } } };
    writeFileSync(PATH, 'old');
    assert.throws(() => writePriceFile(PATH, bad as never), UserError);
    assert.equal(readFileSync(PATH, 'utf8'), 'old');
  });
});
