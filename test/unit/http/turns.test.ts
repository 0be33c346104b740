/** Tasks share the turns of the event loop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLaterTurn } from '../../../src/http/turns.ts';

const turn = () => new Promise(setImmediate);

test('each turn runs four of the waiting tasks, in their order, and none runs at once', async () => {
  const done: number[] = [];
  for (let n = 0; n < 10; n++) inLaterTurn(() => done.push(n));
  assert.deepEqual(done, []);
  for (const expected of [4, 8, 10]) {
    await turn();
    assert.deepEqual(done, [...Array(expected).keys()]);
  }
});

for (const tasks of [3, 10]) {
  test(`${tasks} tasks that queue themselves once more run once in each turn, or four of them`, async () => {
    const turns = 5;
    const perTurn: number[] = [];
    let inTurn = 0;
    const again = () => {
      inTurn++;
      if (perTurn.length < turns) inLaterTurn(again);
    };
    for (let n = 0; n < tasks; n++) inLaterTurn(again);
    while (perTurn.length < turns) {
      inTurn = 0;
      await turn();
      perTurn.push(inTurn);
    }
    // The remaining tasks must not run in the next test.
    for (let n = 0; n < tasks; n++) await turn();
    assert.deepEqual(perTurn, Array(turns).fill(Math.min(tasks, 4)));
  });
}
