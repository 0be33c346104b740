/**
 * Deadlines: whatever is set, refreshed and cleared, only the current one is missed, and at its
 * time; and not where what it waited for has arrived while the process stood still.
 */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Deadline, Deadlines, type Expected } from '../../../src/upstream/deadline.ts';

const CONNECTION: Expected = { kind: 'not_connected', missing: 'no connection', milliseconds: 100 };
const HEAD: Expected = { kind: 'first_byte_timeout', missing: 'no head', milliseconds: 1_000 };
const MORE: Expected = { kind: 'idle_timeout', missing: 'nothing more', milliseconds: 50 };

type Change = Expected | 'refresh' | 'clear';
/** A number lets so many milliseconds pass. */
type Step = Change | number | { readonly afterStandstill: readonly Change[] };

/** How long the process stands still. */
const STANDSTILL_MS = 2_000;

const CASES: readonly (readonly [name: string, steps: readonly Step[], missed: readonly string[]])[] = [
  ['one that is missed', [CONNECTION, 99, 1], ['not_connected at 100']],
  ['a longer one after it', [CONNECTION, 60, HEAD, 999, 1], ['first_byte_timeout at 1060']],
  ['a shorter one after it', [HEAD, 10, MORE, 49, 1], ['idle_timeout at 60']],
  ['one that is refreshed', [MORE, 40, 'refresh', 40, 'refresh', 49, 1], ['idle_timeout at 130']],
  ['one that is cleared', [MORE, 40, 'clear', 1_000], []],
  ['one that is refreshed after it was cleared', [MORE, 'clear', 'refresh', 1_000], []],
  ['one that is set after it was cleared', [MORE, 40, 'clear', 100, MORE, 50], ['idle_timeout at 190']],
  ['one that is set again', [MORE, 30, MORE, 30, MORE, 50], ['idle_timeout at 110']],
  ['one that passed in a standstill', [MORE, { afterStandstill: [] }, 1], ['idle_timeout at 2000']],
  ['one with news after a standstill', [MORE, { afterStandstill: ['refresh'] }, 49, 1], ['idle_timeout at 2050']],
  ['one that is cleared after a standstill', [MORE, { afterStandstill: ['clear'] }, 1_000], []],
  ['one that is met after a standstill', [HEAD, { afterStandstill: [MORE] }, 49, 1], ['idle_timeout at 2050']],
  [
    'one that is met, cleared and set after a standstill',
    [HEAD, { afterStandstill: ['clear', MORE] }, 49, 1, 100],
    ['idle_timeout at 2050'],
  ],
  ['one that is set after it was missed', [MORE, 50, MORE, 50], ['idle_timeout at 50', 'idle_timeout at 100']],
  [
    'one that is set after it was missed and cleared',
    [MORE, 50, 'clear', HEAD, 1_000],
    ['idle_timeout at 50', 'first_byte_timeout at 1050'],
  ],
  [
    'one that is set after the timer of a cleared one has fired',
    [MORE, 'clear', 60, MORE, 50],
    ['idle_timeout at 110'],
  ],
];

for (const [name, steps, missed] of CASES) {
  test(`${name} is missed ${missed.join(', ') || 'never'}`, async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      let nowMs = 0;
      const found: string[] = [];
      const deadline = new Deadline(
        ({ kind }) => found.push(`${kind} at ${nowMs}`),
        () => nowMs,
      );
      const change = (to: Change) => {
        if (to === 'refresh') deadline.refresh();
        else if (to === 'clear') deadline.clear();
        else deadline.set(to);
      };
      for (const step of steps) {
        if (typeof step === 'number') {
          for (let ms = 0; ms < step; ms++) {
            nowMs++;
            mock.timers.tick(1);
            await turn();
          }
        } else if (typeof step === 'object' && 'afterStandstill' in step) {
          nowMs += STANDSTILL_MS;
          mock.timers.tick(STANDSTILL_MS);
          // The sockets are read after the timers have fired.
          step.afterStandstill.forEach(change);
          await turn();
        } else change(step);
      }
      assert.deepEqual(found, missed);
    } finally {
      mock.timers.reset();
    }
  });
}

test('a deadline that was given back is lent to the next request, and reports only to that one', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const found: string[] = [];
    const deadlines = new Deadlines();
    const first = deadlines.take(({ kind }) => found.push(`first: ${kind}`));
    first.set(MORE);
    deadlines.giveBack(first);
    const second = deadlines.take(({ kind }) => found.push(`second: ${kind}`));
    assert.equal(second, first);
    mock.timers.tick(MORE.milliseconds);
    await turn();
    assert.deepEqual(found, []);
    // The deadline reads the real clock: it is due at once.
    second.set({ ...MORE, milliseconds: 0 });
    mock.timers.tick(1);
    await turn();
    assert.deepEqual(found, ['second: idle_timeout']);
  } finally {
    mock.timers.reset();
  }
});
