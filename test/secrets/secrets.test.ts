/**
 * Keys, prompts and answers are found nowhere except in transit, whatever the provider does; and a
 * scan would find them.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { cellsFor } from '../faults/table.ts';
import { notFound, search } from './trial.ts';

test('at log level trace no secret is found anywhere, after every failure and every way to echo a secret', async (t) => {
  const { found } = await search(t, cellsFor(['stays']), 'as it is');
  assert.deepEqual(
    [...found].filter(([, names]) => names.length > 0),
    [],
  );
});

test('the same scan finds every secret, and some in each kind of place, in a program that leaks them', async (t) => {
  const { found } = await search(t, [], 'exposed');
  assert.deepEqual(notFound(found), []);
});
