/**
 * The races, in short: a round of every limit and variant. `npm run prove -- races` is the long form.
 */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { Contest } from './contest.ts';
import { COMBINATIONS, type Combination, LIMITS, type Limit, SIZES, type Variant } from './plan.ts';

/** A factor for the usual number of clients and attempts. */
const SCALE = 0.04;
const SEED = 4_711;

const contest = new Contest(SCALE);
after(() => contest.stop());

const CLAIMS: Readonly<Record<Limit, string>> = {
  rpm: 'a limit of requests per minute admits exactly as many',
  tpm: 'a limit of tokens per minute admits exactly as many requests as fit',
  concurrency: 'of the requests at once there are exactly as many as the limit says',
  budget: 'a budget admits exactly as many requests as it takes to reach it',
  spend: 'a spend limit admits exactly as many requests as it takes to reach it',
  credit: 'credit admits exactly as many requests as it covers',
};

/** Else a budget is a limit on spending like that of the month. */
const BUDGET_VARIANTS: readonly Variant[] = ['plain', 'changed', 'threads', 'group', 'user'];

/**
 * Every limit and variant once, each with one of the smaller sizes in turn; plain ones with the larger of them.
 */
function drawShort(limit: Limit): Combination[] {
  const ofLimit = COMBINATIONS.filter((combination) => combination.limit === limit);
  const variants = [...new Set(ofLimit.map(({ variant }) => variant))].filter(
    (variant) => limit !== 'budget' || BUDGET_VARIANTS.includes(variant),
  );
  return variants.flatMap((variant, index) => {
    const size = variant === 'plain' ? SIZES[1] : SIZES[(index + LIMITS.indexOf(limit)) % 2];
    return ofLimit.filter((combination) => combination.variant === variant && combination.size === size);
  });
}

describe('when many clients race', () => {
  for (const limit of LIMITS) {
    describe(CLAIMS[limit], () => {
      for (const combination of drawShort(limit)) {
        test(`${combination.variant}, ${combination.size}`, async () => {
          const { attempts, deviations } = await contest.run(combination, SEED + LIMITS.indexOf(limit));
          assert.deepEqual(deviations, []);
          assert.ok(attempts > 0);
        });
      }
    });
  }
});
