/** Choosing an upstream: exact shares, ties, returning upstreams, and the last resort. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { CLOSED, OPENS_AFTER_FAILURES, onAttempt, onSignal } from '../../../src/upstream/breaker.ts';
import { type Candidate, choose, eligible, LAST_RESORT_MAX_UNAVAILABLE } from '../../../src/upstream/choice.ts';

const NOW = 1_000_000;

function candidate(fields: Partial<Candidate> = {}): Candidate {
  return { weight: 1, credit: 0, inFlight: 0, breaker: CLOSED, unavailableCount: 0, backoffUntilMs: 0, ...fields };
}

/**
 * Chooses `count` times among these candidates; returns the choices, and the candidates with their
 * new credit.
 */
function choices(candidates: readonly Candidate[], count: number, places = [...candidates.keys()]) {
  let current = [...candidates];
  const chosen: number[] = [];
  for (let i = 0; i < count; i++) {
    const choice = choose(current, places);
    assert.ok(choice !== undefined);
    chosen.push(choice.index);
    current = current.map((each, place) => ({ ...each, credit: choice.credits[place] as number }));
  }
  return { chosen, candidates: current };
}

const timesOf = (chosen: readonly number[], place: number) => chosen.filter((each) => each === place).length;
const weights = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });

describe('the choice', () => {
  test('among no candidates is none', () => {
    assert.equal(choose([candidate()], []), undefined);
  });

  test('spreads the requests of a heavy candidate: with weights 3 and 1 it never gets four in a row', () => {
    const { chosen } = choices([candidate({ weight: 3 }), candidate()], 8);
    assert.deepEqual(chosen, [0, 0, 1, 0, 0, 0, 1, 0]);
  });

  test('gives each candidate exactly its share of a whole round', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 }), (shares) => {
        const round = shares.reduce((sum, share) => sum + share, 0);
        const { chosen, candidates } = choices(
          shares.map((weight) => candidate({ weight })),
          round,
        );
        for (const [place, share] of shares.entries()) assert.equal(timesOf(chosen, place), share);
        for (const { credit } of candidates) assert.equal(credit, 0, 'every round is like the first');
      }),
    );
  });

  test('over any run is never off its shares by as many requests as there are candidates', () => {
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 300 }), (shares, count) => {
        const total = shares.reduce((sum, share) => sum + share, 0);
        const { chosen } = choices(
          shares.map((weight) => candidate({ weight })),
          count,
        );
        for (const [place, share] of shares.entries()) {
          const off = Math.abs(timesOf(chosen, place) - (count * share) / total);
          assert.ok(off < shares.length, `index ${place} is off by ${off}`);
        }
      }),
    );
  });

  test('breaks ties by the fewest requests in flight, then by position', () => {
    const equals = [candidate({ inFlight: 4 }), candidate({ inFlight: 2 }), candidate({ inFlight: 2 })];
    assert.equal(choose(equals, [0, 1, 2])?.index, 1);
  });

  test('is by weight before requests in flight', () => {
    const busy = [candidate({ weight: 2, inFlight: 100 }), candidate({ weight: 1 })];
    assert.equal(choose(busy, [0, 1])?.index, 0);
  });

  test('gives no credit to candidates that were not eligible: one that returns is not flooded', () => {
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 200 }), (shares, away) => {
        if (shares.length < 2) return;
        const all = shares.map((weight) => candidate({ weight }));
        const others = [...all.keys()].slice(1);
        const meanwhile = choices(all, away, others).candidates;
        assert.equal(meanwhile[0]?.credit, 0);
        const { chosen } = choices(meanwhile, 20);
        const total = shares.reduce((sum, share) => sum + share, 0);
        const share = (20 * (shares[0] as number)) / total;
        assert.ok(timesOf(chosen, 0) < share + shares.length, `chosen ${timesOf(chosen, 0)} times of 20`);
      }),
    );
  });

  test('keeps credits within bounds, whichever candidates come and go', () => {
    const run = fc.array(fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), { maxLength: 200 });
    fc.assert(
      fc.property(weights, run, (shares, presence) => {
        const total = shares.reduce((sum, share) => sum + share, 0);
        let candidates = shares.map((weight) => candidate({ weight }));
        for (const present of presence) {
          const places = [...candidates.keys()].filter((place) => present[place]);
          if (places.length > 0) ({ candidates } = choices(candidates, 1, places));
          for (const { credit } of candidates) assert.ok(Math.abs(credit) <= 2 * total);
        }
        assert.equal(
          candidates.reduce((sum, { credit }) => sum + credit, 0),
          0,
        );
      }),
    );
  });
});

const OPEN = Array.from({ length: OPENS_AFTER_FAILURES }).reduce<typeof CLOSED>(
  (breaker) => onSignal(breaker, 'failure', NOW),
  CLOSED,
);
const HALF_OPEN = { ...OPEN, openUntilMs: NOW };
const PROBING = onAttempt(HALF_OPEN, NOW);
const TOO_OFTEN = LAST_RESORT_MAX_UNAVAILABLE;

type Case = readonly [name: string, fields: readonly Partial<Candidate>[], available: number[], lastResort: number[]];
const CASES: readonly Case[] = [
  ['all that are available', [{}, {}], [0, 1], [0, 1]],
  ['the available one next to an open one', [{ breaker: OPEN }, {}], [1], [1]],
  ['the available one next to one that is backing off', [{}, { backoffUntilMs: NOW + 1 }], [0], [0]],
  ['one whose backoff has elapsed', [{ backoffUntilMs: NOW }], [0], [0]],
  ['one that is half open, next to an available one', [{ breaker: HALF_OPEN }, {}], [0, 1], [0, 1]],
  ['not one that is being probed', [{ breaker: PROBING }, {}], [1], [1]],
  ['as the last resort one that is open', [{ breaker: OPEN }], [], [0]],
  ['as the last resort one that is being probed', [{ breaker: PROBING }], [], [0]],
  ['as the last resort one that is backing off', [{ backoffUntilMs: NOW + 9e6 }, { breaker: OPEN }], [], [0, 1]],
  [
    'not one that was unavailable too often, even if there is no other',
    [{ breaker: OPEN, unavailableCount: TOO_OFTEN }],
    [],
    [],
  ],
  [
    'as the last resort one that was unavailable once less',
    [{ breaker: OPEN, unavailableCount: TOO_OFTEN - 1 }],
    [],
    [0],
  ],
  [
    'of two open ones the one that was reachable',
    [{ breaker: OPEN, unavailableCount: TOO_OFTEN }, { breaker: OPEN }],
    [],
    [1],
  ],
  [
    'one that was unavailable too often, once it is half open',
    [{ breaker: HALF_OPEN, unavailableCount: TOO_OFTEN }],
    [0],
    [0],
  ],
  ['but no second request to it', [{ breaker: PROBING, unavailableCount: TOO_OFTEN }], [], []],
];

describe('eligible is', () => {
  for (const [name, fields, available, lastResort] of CASES) {
    test(name, () => {
      const candidates = fields.map(candidate);
      assert.deepEqual(eligible(candidates, NOW, 'available'), available);
      assert.deepEqual(eligible(candidates, NOW, 'last_resort'), lastResort);
    });
  }
});
