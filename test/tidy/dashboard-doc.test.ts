/** The page on the dashboard names every field that a filter can name. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LISTS } from '../../src/tui/lists/lists.ts';
import { VIEWS } from '../../src/tui/model.ts';

const ROW = /^\| (?<view>[A-Z]\w+) \| (?<fields>`.*) \|$/gm;

test('docs/dashboard.md has the fields of each view', () => {
  const page = readFileSync(new URL('../../docs/dashboard.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(ROW)].map(({ groups }) => [
    groups?.view?.toLowerCase(),
    [...(groups?.fields ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
  ]);
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(VIEWS.map((view) => [view, LISTS[view].fields])));
});
