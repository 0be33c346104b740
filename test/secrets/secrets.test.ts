/** Keys, prompts and answers stand nowhere but on their way, whatever the provider does; and a scan would find them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { cellsFor } from '../faults/table.ts';
import { notFound, search } from './trial.ts';

test('at log level trace no secret is found anywhere, after every fault and every way to repeat it', async (t) => {
  const { found } = await search(t, cellsFor(['stays']), false);
  assert.deepEqual(
    [...found].filter(([, names]) => names.length > 0),
    [],
  );
});

test('the same scan finds every secret, and some in each kind of place, once the program gives them away', async (t) => {
  const { found } = await search(t, [], true);
  assert.deepEqual(notFound(found), []);
});
