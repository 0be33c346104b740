/**
 * The Markdown pages: prose wraps at 100 columns, files that they name are there, and the page on tests names every folder of
 * them with its tier.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { DIALECT_NAMES, DIALECT_PATHS } from '../../src/core/dialects.ts';
import { projectFile, sourcesIn, tableRows } from '../support/sources.ts';
import { isIn, type Tier } from '../support/tiers.ts';

const MAX_COLUMNS = 100;
const pages = sourcesIn('*.md').concat(sourcesIn('docs/*.md'));

/** The lines of prose that are too long. Tables, code blocks and lines that are one link cannot be wrapped. */
function longLines({ path, text }: { readonly path: string; readonly text: string }): string[] {
  let isCode = false;
  return text.split('\n').flatMap((line, index) => {
    if (line.startsWith('```')) isCode = !isCode;
    const canWrap = !isCode && !line.startsWith('|') && /\S\s+\S/.test(line.replace(/\[[^\]]*\]\([^)]*\)/g, 'link'));
    return canWrap && [...line].length > MAX_COLUMNS ? [`${path}:${index + 1}`] : [];
  });
}

test('Markdown prose wraps at 100 columns', () => {
  assert.deepEqual(pages.flatMap(longLines), []);
});

test('every file that a page names by its path is there, from the root or in `src/` or `test/`', () => {
  const roots = ['', 'src', 'test'].map((folder) => join(import.meta.dirname, '../..', folder));
  const missing = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)]
      .map(([, named = '']) => named)
      .filter((named) => !roots.some((root) => existsSync(join(root, named))))
      .map((named) => `${path}: ${named}`),
  );
  assert.deepEqual(missing, []);
});

const proofs = tableRows(projectFile('docs/testing.md'), '| where |');

test('the page on tests names every campaign, and no other', () => {
  const named = proofs.flatMap(([, , , campaign = '']) => campaign.match(/[\w-]+/g) ?? []);
  const names = sourcesIn('test/**/*.campaign.ts').map(({ path }) => basename(path, '.campaign.ts'));
  assert.deepEqual(named.toSorted(), names.toSorted());
});

test('the page on tests names every folder of them, and no other', () => {
  const named = proofs.flatMap(([where = '']) =>
    [...where.matchAll(/`test\/(\w[\w-]*)\/`/g)].map(([, folder]) => folder),
  );
  const paths = sourcesIn('test/*/**/*.ts').map(({ path }) => path.split('/')[1] ?? '');
  const folders = [...new Set(paths)].filter((folder) => folder !== 'support');
  assert.deepEqual(named.toSorted(), folders.toSorted());
});

test('the page on tests says of each folder in which tier its tests are', () => {
  const tests = sourcesIn('test/**/*.test.ts').map(({ path }) => path);
  const wrong = proofs.flatMap(([where = '', tier = '', what = '']) => {
    const folders = [...where.matchAll(/`([^`]+)`/g)].map(([, folder = '']) => folder);
    const inside = tests.filter((path) => folders.some((folder) => path.startsWith(folder)));
    const named = tests.filter((path) => what.includes(`\`${path}\``));
    const files = inside.length > 0 ? inside : named;
    const tiers = (['check', 'proof'] satisfies Tier[]).filter((each) => files.some((path) => isIn(each, path)));
    const due = tiers.length > 1 ? 'both' : (tiers[0] ?? 'campaign');
    return due === tier ? [] : [`${where}: ${tier} is ${due}`];
  });
  assert.deepEqual(wrong, []);
});

test('the pages on HTTP and the config name every dialect and its path', () => {
  const paths = Object.values(DIALECT_PATHS).map((path) => `/v1${path}`);
  const missing = (path: string, names: readonly string[]) => {
    const text = projectFile(path);
    return names.filter((name) => !new RegExp(`[\\s\`\\[]${name}\\b`).test(text));
  };
  assert.deepEqual(missing('docs/http.md', paths), []);
  assert.deepEqual(missing('docs/config.md', [...paths, ...DIALECT_NAMES]), []);
  assert.deepEqual(missing('config.example.yaml', DIALECT_NAMES), []);
});
