/** Tickets: every call settles once, with the reply that carries its number. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tickets } from '../../../src/core/tickets.ts';

const ERROR = new Error('nobody answers');

/** `call`: 1, 2 or 3, or another number for a ticket that was never taken. */
type Step =
  | readonly ['resolve', call: number, reply: string]
  | readonly ['reject', call: number]
  | readonly ['rejectAll'];

const PENDING = 'pending';

/** The outcome of each of three calls after these steps: a reply, an error, or still pending. */
async function outcomesAfter(steps: readonly Step[]): Promise<unknown[]> {
  const tickets = new Tickets<string>();
  const calls = [tickets.take(), tickets.take(), tickets.take()];
  const ticketOf = (call: number) => calls[call - 1]?.ticket ?? call;
  const settled = calls.map(({ reply }) => reply.catch((error: unknown) => error));
  for (const step of steps) {
    if (step[0] === 'resolve') tickets.resolve(ticketOf(step[1]), step[2]);
    else if (step[0] === 'reject') tickets.reject(ticketOf(step[1]), ERROR);
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
  ['is pending without a reply', [], [PENDING, PENDING, PENDING]],
  ['gets the reply with its number', [['resolve', 2, 'two']], [PENDING, 'two', PENDING]],
  [
    'gets its reply in any order',
    [
      ['resolve', 3, 'three'],
      ['resolve', 1, 'one'],
    ],
    ['one', PENDING, 'three'],
  ],
  ['can fail without the others', [['reject', 1]], [ERROR, PENDING, PENDING]],
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
    'is not affected by replies to unknown tickets',
    [
      ['resolve', 4, 'four'],
      ['reject', 0],
      ['resolve', -1, 'minus one'],
    ],
    [PENDING, PENDING, PENDING],
  ],
  ['fails with all that are pending', [['resolve', 2, 'two'], ['rejectAll']], [ERROR, 'two', ERROR]],
  ['gets no reply after all have failed', [['rejectAll'], ['resolve', 1, 'one']], [ERROR, ERROR, ERROR]],
];

describe('a call', () => {
  for (const [what, steps, outcomes] of cases) {
    test(what, async () => assert.deepEqual(await outcomesAfter(steps), outcomes));
  }

  test('can be made after all others have failed', async () => {
    const tickets = new Tickets<string>();
    const first = tickets.take();
    tickets.rejectAll(ERROR);
    await assert.rejects(first.reply, ERROR);
    const second = tickets.take();
    tickets.resolve(second.ticket, 'two');
    assert.equal(await second.reply, 'two');
  });

  test('is not settled by a late reply to a call that has failed', async () => {
    const tickets = new Tickets<string>();
    const first = tickets.take();
    tickets.reject(first.ticket, ERROR);
    await assert.rejects(first.reply, ERROR);
    const second = tickets.take();
    tickets.resolve(first.ticket, 'one');
    assert.equal(await Promise.race([second.reply, afterTurn()]), PENDING);
    tickets.resolve(second.ticket, 'two');
    assert.equal(await second.reply, 'two');
  });
});
