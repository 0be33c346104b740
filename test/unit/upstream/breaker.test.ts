/** The circuit breaker: case by case, and over any run of events. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  allowsRequest,
  type Breaker,
  type BreakerState,
  CLOSED,
  MAX_OPEN_MS,
  OPEN_MS,
  OPENS_AFTER_FAILURES,
  onAttempt,
  onSignal,
  type Signal,
  stateOf,
} from '../../../src/upstream/breaker.ts';

/** A request that is sent and shows something, a sign of an earlier one, or time that passes. */
type Event = 'ask' | Signal | number;

/** The breaker after these events, and the time. Time begins at 0. */
function after(events: readonly Event[], from = CLOSED): { breaker: Breaker; nowMs: number } {
  let breaker = from;
  let nowMs = 0;
  for (const event of events) {
    if (typeof event === 'number') nowMs += event;
    else breaker = event === 'ask' ? onAttempt(breaker, nowMs) : onSignal(breaker, event, nowMs);
  }
  return { breaker, nowMs };
}

const failing = (count: number): Signal[] => Array.from({ length: count }, () => 'failure');
const OPENING = failing(OPENS_AFTER_FAILURES);

const CASES: readonly (readonly [name: string, events: readonly Event[], state: BreakerState, askable: boolean])[] = [
  ['nothing', [], 'closed', true],
  ['one failure less than it takes', failing(OPENS_AFTER_FAILURES - 1), 'closed', true],
  ['as many failures as it takes', OPENING, 'open', false],
  ['failures with an answer between them', [...failing(4), 'success', ...failing(4)], 'closed', true],
  ['failures with a request between them that was given up', [...failing(4), 'inconclusive', 'failure'], 'open', false],
  ['absences like failures', ['unreachable', 'unreachable', 'failure', 'unreachable', 'unreachable'], 'open', false],
  ['a moment less than it stays open', [...OPENING, OPEN_MS - 1], 'open', false],
  ['the time it stays open', [...OPENING, OPEN_MS], 'half_open', true],
  ['a probe that is under way', [...OPENING, OPEN_MS, 'ask'], 'half_open', false],
  ['a probe that finds it well', [...OPENING, OPEN_MS, 'ask', 'success'], 'closed', true],
  ['a probe that fails', [...OPENING, OPEN_MS, 'ask', 'failure'], 'open', false],
  ['a probe that fails, the first time again', [...OPENING, OPEN_MS, 'ask', 'unreachable', OPEN_MS], 'open', false],
  ['a probe that fails, twice the time', [...OPENING, OPEN_MS, 'ask', 'unreachable', 2 * OPEN_MS], 'half_open', true],
  ['a probe that is given up', [...OPENING, OPEN_MS, 'ask', 'inconclusive'], 'half_open', true],
  ['a probe that has got a connection', [...OPENING, OPEN_MS, 'ask', 'connected'], 'half_open', false],
  ['a connection of a request that was sent before', [...OPENING, 'connected'], 'open', false],
  ['a late sign of life', [...OPENING, 'success'], 'closed', true],
  ['late failures', [...OPENING, 'failure', 'failure', OPEN_MS], 'half_open', true],
  ['one failure after it has closed', [...OPENING, OPEN_MS, 'ask', 'success', 'failure'], 'closed', true],
];

describe('a breaker is', () => {
  for (const [name, events, state, askable] of CASES) {
    test(`${state}, and ${askable ? 'lets' : 'does not let'} a request through, after ${name}`, () => {
      const { breaker, nowMs } = after(events);
      assert.deepEqual([stateOf(breaker, nowMs), allowsRequest(breaker, nowMs)], [state, askable]);
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
    breaker = onSignal(onAttempt(breaker, nowMs), 'failure', nowMs);
  }
  assert.deepEqual(times, [5_000, 10_000, 20_000, 40_000, MAX_OPEN_MS, MAX_OPEN_MS]);
  for (const sign of ['success', ...OPENING] as const) breaker = onSignal(breaker, sign, nowMs);
  assert.equal(breaker.openUntilMs, nowMs + OPEN_MS);
});

test('absences count in a row: an answer of any kind ends the row, a request that was given up does not', () => {
  const unavailableCountAfter = (...events: Event[]) => after(events).breaker.unavailableCount;
  assert.equal(unavailableCountAfter('unreachable', 'inconclusive', 'unreachable', 'unreachable'), 3);
  assert.equal(unavailableCountAfter('unreachable', 'unreachable', 'failure'), 0);
  assert.equal(unavailableCountAfter('unreachable', 'unreachable', 'success', 'unreachable'), 1);
});

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.constantFrom<Event>('ask', 'success', 'failure', 'unreachable', 'inconclusive'),
  fc.integer({ min: 0, max: 2 * MAX_OPEN_MS }),
);
const anyEvents = fc.array(anyEvent, { maxLength: 60 });

describe('whatever happens,', () => {
  test('a breaker lets requests through again after a minute, unless one is finding out', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        assert.ok(breaker.isProbing || allowsRequest(breaker, nowMs + MAX_OPEN_MS));
      }),
    );
  });

  test('an answer closes it, and leaves nothing behind', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker } = after([...events, 'success']);
        assert.deepEqual(breaker.openUntilMs === undefined && { ...breaker, unavailableCount: 0 }, CLOSED);
      }),
    );
  });

  test('while it is half open, it lets no second request through until the first one has shown something', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) !== 'half_open') return;
        assert.equal(allowsRequest(onAttempt(breaker, nowMs), nowMs + MAX_OPEN_MS), false);
      }),
    );
  });

  test('it opens only after so many failures in a row', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) === 'closed') return;
        const signs = events.filter((event): event is Signal => typeof event === 'string' && event !== 'ask');
        const row = signs.slice(signs.lastIndexOf('success') + 1).filter((sign) => sign !== 'inconclusive');
        assert.ok(row.length >= OPENS_AFTER_FAILURES);
        assert.equal(breaker.failures, row.length);
      }),
    );
  });
});
