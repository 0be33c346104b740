/** The circuit breaker: case by case, and over any run of events. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type Breaker,
  type BreakerState,
  CLOSED,
  isAskable,
  MAX_OPEN_MS,
  OPEN_MS,
  OPENS_AFTER_FAILURES,
  onAsked,
  onSign,
  type Sign,
  stateOf,
} from '../../../src/upstream/breaker.ts';

/** A request that is sent and shows something, a sign of an earlier one, or time that passes. */
type Event = 'ask' | Sign | number;

/** The breaker after these events, and the time. Time begins at 0. */
function after(events: readonly Event[], from = CLOSED): { breaker: Breaker; nowMs: number } {
  let breaker = from;
  let nowMs = 0;
  for (const event of events) {
    if (typeof event === 'number') nowMs += event;
    else breaker = event === 'ask' ? onAsked(breaker, nowMs) : onSign(breaker, event, nowMs);
  }
  return { breaker, nowMs };
}

const failing = (count: number): Sign[] => Array.from({ length: count }, () => 'failing');
const OPENING = failing(OPENS_AFTER_FAILURES);

const CASES: readonly (readonly [name: string, events: readonly Event[], state: BreakerState, askable: boolean])[] = [
  ['nothing', [], 'closed', true],
  ['one failure less than it takes', failing(OPENS_AFTER_FAILURES - 1), 'closed', true],
  ['as many failures as it takes', OPENING, 'open', false],
  ['failures with an answer between them', [...failing(4), 'well', ...failing(4)], 'closed', true],
  ['failures with a request between them that was given up', [...failing(4), 'nothing', 'failing'], 'open', false],
  ['absences like failures', ['away', 'away', 'failing', 'away', 'away'], 'open', false],
  ['a moment less than it stays open', [...OPENING, OPEN_MS - 1], 'open', false],
  ['the time it stays open', [...OPENING, OPEN_MS], 'half_open', true],
  ['a probe that is under way', [...OPENING, OPEN_MS, 'ask'], 'half_open', false],
  ['a probe that finds it well', [...OPENING, OPEN_MS, 'ask', 'well'], 'closed', true],
  ['a probe that fails', [...OPENING, OPEN_MS, 'ask', 'failing'], 'open', false],
  ['a probe that fails, the first time again', [...OPENING, OPEN_MS, 'ask', 'away', OPEN_MS], 'open', false],
  ['a probe that fails, twice the time', [...OPENING, OPEN_MS, 'ask', 'away', 2 * OPEN_MS], 'half_open', true],
  ['a probe that is given up', [...OPENING, OPEN_MS, 'ask', 'nothing'], 'half_open', true],
  ['a probe that has got a connection', [...OPENING, OPEN_MS, 'ask', 'there'], 'half_open', false],
  ['a connection of a request that was sent before', [...OPENING, 'there'], 'open', false],
  ['a late sign of life', [...OPENING, 'well'], 'closed', true],
  ['late failures', [...OPENING, 'failing', 'failing', OPEN_MS], 'half_open', true],
  ['one failure after it has closed', [...OPENING, OPEN_MS, 'ask', 'well', 'failing'], 'closed', true],
];

describe('a breaker is', () => {
  for (const [name, events, state, askable] of CASES) {
    test(`${state}, and ${askable ? 'lets' : 'does not let'} a request through, after ${name}`, () => {
      const { breaker, nowMs } = after(events);
      assert.deepEqual([stateOf(breaker, nowMs), isAskable(breaker, nowMs)], [state, askable]);
    });
  }
});

test('the time for which it stays open doubles with each probe that fails, up to a bound, and starts anew', () => {
  let { breaker, nowMs } = after(OPENING);
  const times = [];
  for (let probe = 0; probe < 6; probe++) {
    const openMs = (breaker.openUntilMs ?? 0) - nowMs;
    times.push(openMs);
    nowMs += openMs;
    breaker = onSign(onAsked(breaker, nowMs), 'failing', nowMs);
  }
  assert.deepEqual(times, [5_000, 10_000, 20_000, 40_000, MAX_OPEN_MS, MAX_OPEN_MS]);
  for (const sign of ['well', ...OPENING] as const) breaker = onSign(breaker, sign, nowMs);
  assert.equal(breaker.openUntilMs, nowMs + OPEN_MS);
});

test('absences count in a row: an answer of any kind ends the row, a request that was given up does not', () => {
  const absencesAfter = (...events: Event[]) => after(events).breaker.absences;
  assert.equal(absencesAfter('away', 'nothing', 'away', 'away'), 3);
  assert.equal(absencesAfter('away', 'away', 'failing'), 0);
  assert.equal(absencesAfter('away', 'away', 'well', 'away'), 1);
});

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.constantFrom<Event>('ask', 'well', 'failing', 'away', 'nothing'),
  fc.integer({ min: 0, max: 2 * MAX_OPEN_MS }),
);
const anyEvents = fc.array(anyEvent, { maxLength: 60 });

describe('whatever happens,', () => {
  test('a breaker lets requests through again after a minute, unless one is finding out', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        assert.ok(breaker.isProbing || isAskable(breaker, nowMs + MAX_OPEN_MS));
      }),
    );
  });

  test('an answer closes it, and leaves nothing behind', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker } = after([...events, 'well']);
        assert.deepEqual(breaker.openUntilMs === undefined && { ...breaker, absences: 0 }, CLOSED);
      }),
    );
  });

  test('while it is half open, it lets no second request through until the first one has shown something', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) !== 'half_open') return;
        assert.equal(isAskable(onAsked(breaker, nowMs), nowMs + MAX_OPEN_MS), false);
      }),
    );
  });

  test('it opens only after so many failures in a row', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) === 'closed') return;
        const signs = events.filter((event): event is Sign => typeof event === 'string' && event !== 'ask');
        const row = signs.slice(signs.lastIndexOf('well') + 1).filter((sign) => sign !== 'nothing');
        assert.ok(row.length >= OPENS_AFTER_FAILURES);
        assert.equal(breaker.failures, row.length);
      }),
    );
  });
});
