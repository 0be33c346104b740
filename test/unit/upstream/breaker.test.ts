/** The circuit breaker: case by case, and over random sequences of events. */
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

/** A request that is sent, a signal of an earlier one, or milliseconds that pass. */
type Event = 'request' | Signal | number;

/** The breaker and the time after these events. Time starts at 0. */
function after(events: readonly Event[], from = CLOSED): { breaker: Breaker; nowMs: number } {
  let breaker = from;
  let nowMs = 0;
  for (const event of events) {
    if (typeof event === 'number') nowMs += event;
    else breaker = event === 'request' ? onAttempt(breaker, nowMs) : onSignal(breaker, event, nowMs);
  }
  return { breaker, nowMs };
}

const failing = (count: number): Signal[] => Array.from({ length: count }, () => 'failure');
const OPENING = failing(OPENS_AFTER_FAILURES);

const CASES: readonly (readonly [name: string, events: readonly Event[], state: BreakerState, allows: boolean])[] = [
  ['nothing', [], 'closed', true],
  ['one failure less than the limit', failing(OPENS_AFTER_FAILURES - 1), 'closed', true],
  ['as many failures as the limit', OPENING, 'open', false],
  ['failures with a success between them', [...failing(4), 'success', ...failing(4)], 'closed', true],
  ['failures with an aborted request between them', [...failing(4), 'inconclusive', 'failure'], 'open', false],
  [
    'failures to connect, which count like others',
    ['unreachable', 'unreachable', 'failure', 'unreachable', 'unreachable'],
    'open',
    false,
  ],
  ['a moment less than the open time', [...OPENING, OPEN_MS - 1], 'open', false],
  ['the open time', [...OPENING, OPEN_MS], 'half_open', true],
  ['a probe that is in flight', [...OPENING, OPEN_MS, 'request'], 'half_open', false],
  ['a probe that succeeds', [...OPENING, OPEN_MS, 'request', 'success'], 'closed', true],
  ['a probe that fails', [...OPENING, OPEN_MS, 'request', 'failure'], 'open', false],
  [
    'a failed probe and the first open time again',
    [...OPENING, OPEN_MS, 'request', 'unreachable', OPEN_MS],
    'open',
    false,
  ],
  [
    'a failed probe and twice the open time',
    [...OPENING, OPEN_MS, 'request', 'unreachable', 2 * OPEN_MS],
    'half_open',
    true,
  ],
  ['a probe that is aborted', [...OPENING, OPEN_MS, 'request', 'inconclusive'], 'half_open', true],
  ['a probe that has a connection', [...OPENING, OPEN_MS, 'request', 'connected'], 'half_open', false],
  ['a connection of an earlier request', [...OPENING, 'connected'], 'open', false],
  ['a late success', [...OPENING, 'success'], 'closed', true],
  ['late failures', [...OPENING, 'failure', 'failure', OPEN_MS], 'half_open', true],
  ['one failure after it closed', [...OPENING, OPEN_MS, 'request', 'success', 'failure'], 'closed', true],
];

describe('a breaker is', () => {
  for (const [name, events, state, allows] of CASES) {
    test(`${state}, and ${allows ? 'lets' : 'does not let'} a request through, after ${name}`, () => {
      const { breaker, nowMs } = after(events);
      assert.deepEqual([stateOf(breaker, nowMs), allowsRequest(breaker, nowMs)], [state, allows]);
    });
  }
});

test('the open time doubles with each failed probe, up to a limit, and is reset by a success', () => {
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

test('unavailability is counted in a row: a response of any kind resets the count, an aborted request does not', () => {
  const unavailableCountAfter = (...events: Event[]) => after(events).breaker.unavailableCount;
  assert.equal(unavailableCountAfter('unreachable', 'inconclusive', 'unreachable', 'unreachable'), 3);
  assert.equal(unavailableCountAfter('unreachable', 'unreachable', 'failure'), 0);
  assert.equal(unavailableCountAfter('unreachable', 'unreachable', 'success', 'unreachable'), 1);
});

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.constantFrom<Event>('request', 'success', 'failure', 'unreachable', 'inconclusive'),
  fc.integer({ min: 0, max: 2 * MAX_OPEN_MS }),
);
const anyEvents = fc.array(anyEvent, { maxLength: 60 });

describe('whatever happens,', () => {
  test('a breaker lets requests through again after a minute, unless one is probing', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        assert.ok(breaker.isProbing || allowsRequest(breaker, nowMs + MAX_OPEN_MS));
      }),
    );
  });

  test('a success closes it, and resets its state', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker } = after([...events, 'success']);
        assert.deepEqual(breaker.openUntilMs === undefined && { ...breaker, unavailableCount: 0 }, CLOSED);
      }),
    );
  });

  test('while it is half open, it lets no second request through until the first one has given a signal', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) !== 'half_open') return;
        assert.equal(allowsRequest(onAttempt(breaker, nowMs), nowMs + MAX_OPEN_MS), false);
      }),
    );
  });

  test('it opens only after enough failures in a row', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { breaker, nowMs } = after(events);
        if (stateOf(breaker, nowMs) === 'closed') return;
        const signs = events.filter((event): event is Signal => typeof event === 'string' && event !== 'request');
        const row = signs.slice(signs.lastIndexOf('success') + 1).filter((sign) => sign !== 'inconclusive');
        assert.ok(row.length >= OPENS_AFTER_FAILURES);
        assert.equal(breaker.failures, row.length);
      }),
    );
  });
});
