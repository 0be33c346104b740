/** Limits of which one admits an exact number of requests, and the others all of them. */
import type { Budget } from '../../src/core/budgets.ts';
import type { OwnLimits } from '../../src/state/keys.ts';
import type { Limit, RoundPlan } from './plan.ts';

/** The estimated tokens of every request's message. */
export const INPUT_TOKENS = 5;
const INPUT_NANOS = 1_000;
const OUTPUT_NANOS = 2_000;
/** More than any round needs. */
const AMPLE = 1_000_000_000;
const AMPLE_BALANCE_NANOS = 1_000_000_000_000n;

export interface Allowance {
  readonly limits: OwnLimits;
  readonly budgets: readonly Budget[];
  readonly balanceNanos: bigint;
}

export const AMPLE_ALLOWANCE: Allowance = {
  limits: { rpm: AMPLE, tpm: AMPLE, concurrency: AMPLE, spendLimitNanos: null },
  budgets: [],
  balanceNanos: AMPLE_BALANCE_NANOS,
};

/**
 * The cost of a request with that many output tokens, which is also the hold of one that declares
 * them.
 */
export function costNanos(outputTokens: number): bigint {
  return BigInt(INPUT_TOKENS * INPUT_NANOS + outputTokens * OUTPUT_NANOS);
}

/** Limits that admit `size` requests, each of which uses what it declares. */
export function allowanceFor(
  limit: Limit,
  size: number,
  { declaredTokens, slack }: Pick<RoundPlan, 'declaredTokens' | 'slack'>,
): Allowance {
  const { limits } = AMPLE_ALLOWANCE;
  const cost = costNanos(declaredTokens);
  const tokens = INPUT_TOKENS + declaredTokens;
  const leftOver = Math.floor(slack * Number(cost));
  // The last request is admitted while the charges are a single nanodollar below the limit.
  const lastNanos = BigInt(size - 1) * cost + 1n + BigInt(leftOver);
  switch (limit) {
    case 'rpm':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, rpm: size } };
    case 'tpm':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, tpm: size * tokens + Math.floor(slack * tokens) } };
    case 'concurrency':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, concurrency: size } };
    case 'spend':
      return { ...AMPLE_ALLOWANCE, limits: { ...limits, spendLimitNanos: lastNanos } };
    case 'budget':
      // A round may be at midnight, so no day.
      return { ...AMPLE_ALLOWANCE, budgets: [{ period: size % 3 === 0 ? 'total' : '24h', limitNanos: lastNanos }] };
    case 'credit':
      return { ...AMPLE_ALLOWANCE, balanceNanos: BigInt(size) * cost + BigInt(leftOver) };
  }
}

/** What may be spent of a limit on spending. */
export function spendLimitOf({ limits, budgets }: Allowance): bigint {
  return limits.spendLimitNanos ?? budgets[0]?.limitNanos ?? 0n;
}
