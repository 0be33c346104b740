/** Tickets: every call settles once, with the reply that carries its number. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tickets } from '../../../src/core/tickets.ts';

const ERROR = new Error('nobody answers');

type Step =
  | readonly ['resolve', ticket: number, reply: string]
  | readonly ['reject', ticket: number]
  | readonly ['rejectAll'];

const PENDING = 'pending';

/** What has become of each of three calls after these steps: its reply, its error, or nothing yet. */
async function outcomesAfter(steps: readonly Step[]): Promise<unknown[]> {
  const tickets = new Tickets<string>();
  const calls = [tickets.take(), tickets.take(), tickets.take()];
  assert.deepEqual(
    calls.map(({ ticket }) => ticket),
    [1, 2, 3],
  );
  const settled = calls.map(({ reply }) => reply.catch((error: unknown) => error));
  for (const step of steps) {
    if (step[0] === 'resolve') tickets.resolve(step[1], step[2]);
    else if (step[0] === 'reject') tickets.reject(step[1], ERROR);
    else tickets.rejectAll(ERROR);
  }
  return Promise.all(settled.map((outcome) => Promise.race([outcome, afterTurn()])));
}

/** Loses a race against any promise that has settled by now. */
async function afterTurn(): Promise<string> {
  await new Promise((resolve) => setImmediate(resolve));
  return PENDING;
}

const cases: readonly (readonly [what: string, steps: readonly Step[], outcomes: readonly unknown[]])[] = [
  ['waits for its reply', [], [PENDING, PENDING, PENDING]],
  ['resolves with the reply of its number', [['resolve', 2, 'two']], [PENDING, 'two', PENDING]],
  [
    'resolves in any order',
    [
      ['resolve', 3, 'three'],
      ['resolve', 1, 'one'],
    ],
    ['one', PENDING, 'three'],
  ],
  ['rejects alone', [['reject', 1]], [ERROR, PENDING, PENDING]],
  [
    'keeps its first outcome',
    [
      ['resolve', 1, 'one'],
      ['resolve', 1, 'again'],
      ['reject', 1],
      ['reject', 2],
      ['resolve', 2, 'two'],
    ],
    ['one', ERROR, PENDING],
  ],
  [
    'is not affected by tickets that nobody holds',
    [
      ['resolve', 4, 'four'],
      ['reject', 0],
      ['resolve', -1, 'minus one'],
    ],
    [PENDING, PENDING, PENDING],
  ],
  ['rejects with all that wait', [['resolve', 2, 'two'], ['rejectAll']], [ERROR, 'two', ERROR]],
  ['cannot be answered after that', [['rejectAll'], ['resolve', 1, 'one']], [ERROR, ERROR, ERROR]],
];

describe('a call', () => {
  for (const [what, steps, outcomes] of cases) {
    test(what, async () => assert.deepEqual(await outcomesAfter(steps), outcomes));
  }

  test('can be made after all others were rejected, under a number of its own', async () => {
    const tickets = new Tickets<string>();
    const first = tickets.take();
    tickets.rejectAll(ERROR);
    await assert.rejects(first.reply, ERROR);
    const second = tickets.take();
    tickets.resolve(second.ticket, 'two');
    assert.deepEqual([second.ticket, await second.reply], [2, 'two']);
  });
});
