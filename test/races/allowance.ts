/** Limits of which one admits exactly so many requests, and the others all of them. */
import type { OwnLimits } from '../../src/state/keys.ts';
import type { Limit, RoundPlan } from './plan.ts';

/** What the message of every request is estimated at. */
export const INPUT_TOKENS = 5;
const INPUT_NANOS = 1_000;
const OUTPUT_NANOS = 2_000;
/** So many that no round comes near. */
const AMPLE = 1_000_000_000;
const AMPLE_BALANCE_NANOS = 1_000_000_000_000n;

export interface Allowance {
  readonly limits: OwnLimits;
  readonly balanceNanos: bigint;
}

export const AMPLE_ALLOWANCE: Allowance = {
  limits: { rpm: AMPLE, tpm: AMPLE, concurrency: AMPLE, spendLimitNanos: null },
  balanceNanos: AMPLE_BALANCE_NANOS,
};

/** What a request costs that gives so many tokens; it is also what is held for one that declares them. */
export function costNanos(outputTokens: number): bigint {
  return BigInt(INPUT_TOKENS * INPUT_NANOS + outputTokens * OUTPUT_NANOS);
}

/** Admits `size` requests, each of which uses what it declares. */
export function allowanceFor(limit: Limit, size: number, { declaredTokens, slack }: RoundPlan): Allowance {
  const { limits } = AMPLE_ALLOWANCE;
  const cost = costNanos(declaredTokens);
  const tokens = INPUT_TOKENS + declaredTokens;
  const leftOver = Math.floor(slack * Number(cost));
  switch (limit) {
    case 'rpm':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, rpm: size } };
    case 'tpm':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, tpm: size * tokens + Math.floor(slack * tokens) } };
    case 'concurrency':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, concurrency: size } };
    case 'spend':
      // The last request is admitted as long as a single nanodollar is missing of the limit.
      return {
        ...AMPLE_ALLOWANCE,
        limits: { ...limits, spendLimitNanos: BigInt(size - 1) * cost + 1n + BigInt(leftOver) },
      };
    case 'credit':
      return { ...AMPLE_ALLOWANCE, balanceNanos: BigInt(size) * cost + BigInt(leftOver) };
  }
}
