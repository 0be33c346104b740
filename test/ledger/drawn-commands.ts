/** Commands drawn at random, as both comparisons with the naive ledger take them. */
import fc from 'fast-check';

export const KEYS = 3;
export const USERS = ['alice', 'bob'] as const;

export const ask = fc.record({
  kind: fc.constant('admit' as const),
  key: fc.nat({ max: KEYS - 1 }),
  user: fc.option(fc.constantFrom(...USERS), { nil: undefined }),
  model: fc.constantFrom('mock/a', 'mock/b'),
  inputTokens: fc.nat({ max: 120 }),
  // Sometimes more than the limit allows at all.
  outputTokens: fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 120 }) }, { weight: 1, arbitrary: fc.constant(450) }),
  holdNanos: fc.bigInt({ min: 0n, max: 40n }),
});
export const end = fc.record({
  kind: fc.constant('settle' as const),
  which: fc.nat(),
  promptTokens: fc.nat({ max: 150 }),
  completionTokens: fc.nat({ max: 150 }),
  costNanos: fc.bigInt({ min: 0n, max: 45n }),
});
/** A stream has written more than it holds, or its client has left. */
export const change = fc.record({
  kind: fc.constantFrom('grow' as const, 'grow' as const, 'free_slot' as const),
  which: fc.nat(),
  moreTokens: fc.nat({ max: 60 }),
  moreNanos: fc.bigInt({ min: 0n, max: 60n }),
});
/** Budgets of a key, no two for the same period. */
export const budgets = fc.uniqueArray(
  fc.record({
    period: fc.constantFrom('day', 'week', 'total', '7s', '90s', '24h', '10d'),
    limitNanos: fc.bigInt({ min: 0n, max: 150n }),
  }),
  { maxLength: 3, selector: ({ period }) => period },
);
