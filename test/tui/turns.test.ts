/** Taking turns with the state: one at a time, with room for key presses between, and nothing left to wait for at the end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Turns } from '../../src/tui/turns.ts';

test('between two pieces of work other events have their turn, however quick the state is', async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const readOn = (page: number) => async () => {
    seen.push(`page ${page}`);
    if (page < 3) turns.add('requests', readOn(page + 1));
  };
  turns.add('requests', readOn(1));
  for (const key of ['a', 'b', 'c']) {
    await turn();
    seen.push(key);
  }
  assert.deepEqual(seen, ['page 1', 'a', 'page 2', 'b', 'page 3', 'c']);
});

test('of one kind the latest piece waits, also while a turn is on its way', async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const work = (name: string) => async () => void seen.push(name);
  turns.add('usage', work('by key'));
  turns.add('usage', work('by model'));
  turns.add('key', work('details'));
  turns.add('usage', work('by day'));
  for (let i = 0; i < 5; i++) await turn();
  assert.deepEqual(seen, ['details', 'by day']);
});

test('the end waits for changes, and drops all that only reads', async () => {
  const turns = new Turns();
  const seen: string[] = [];
  turns.add('requests', async () => void seen.push('requests'));
  turns.add('act', async () => void seen.push('act'));
  const ended = turns.end();
  turns.add('requests', async () => void seen.push('more requests'));
  await ended;
  assert.deepEqual(seen, ['act']);
});
