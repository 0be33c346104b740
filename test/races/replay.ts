/**
 * Replays what was admitted, and finds what exceeded a limit, as far as the times in the journal
 * show.
 */
import { type Allowance, costNanos, INPUT_TOKENS, spendLimitOf } from './allowance.ts';
import type { Attempt } from './host.ts';
import type { Limit, RoundPlan } from './plan.ts';
import type { TimedRow } from './stage.ts';

/** An admitted request, with its row. */
export interface Admitted {
  readonly attempt: Attempt;
  readonly row: TimedRow;
}

/**
 * What was certainly used, or in flight, when a request was admitted. Times are whole milliseconds.
 */
interface Before {
  tokens: number;
  chargedNanos: bigint;
  open: number;
  reservedTokens: number;
  heldNanos: bigint;
}

/** The requests that were admitted in excess of a limit. */
export function misfits(all: readonly Admitted[], limit: Limit, plan: RoundPlan, allowance: Allowance): string[] {
  const hold = costNanos(plan.declaredTokens);
  return all
    .filter(({ attempt, row }) => !fits(limit, allowance, before(row, all, plan), reservedTokens(attempt, plan), hold))
    .map(({ row }) => `request ${row.request_id} was admitted when the limit was already used up or spoken for`);
}

/**
 * If no maximum is declared or written into the request, its output is held in money but not
 * reserved in tokens.
 */
function reservedTokens({ declares }: Attempt, { declaredTokens }: RoundPlan): number {
  return INPUT_TOKENS + (declares ? declaredTokens : 0);
}

function before(at: TimedRow, all: readonly Admitted[], plan: RoundPlan): Before {
  const sum: Before = { tokens: 0, chargedNanos: 0n, open: 0, reservedTokens: 0, heldNanos: 0n };
  for (const { attempt, row } of all) {
    if (row.settled_at_ms < at.admitted_at_ms) {
      sum.tokens += row.prompt_tokens + row.completion_tokens;
      sum.chargedNanos += BigInt(row.cost_nanos);
    } else if (row.admitted_at_ms < at.admitted_at_ms && row.settled_at_ms > at.admitted_at_ms) {
      sum.open++;
      sum.reservedTokens += reservedTokens(attempt, plan);
      sum.heldNanos += costNanos(plan.declaredTokens);
    }
  }
  return sum;
}

function fits(limit: Limit, allowance: Allowance, sum: Before, tokens: number, hold: bigint): boolean {
  const { limits, balanceNanos } = allowance;
  switch (limit) {
    case 'rpm':
    case 'concurrency':
      return true;
    case 'tpm':
      return sum.tokens + sum.reservedTokens + tokens <= (limits.tpm ?? 0);
    case 'spend':
    case 'budget': {
      const spendLimit = spendLimitOf(allowance);
      return sum.chargedNanos < spendLimit && (sum.open === 0 || sum.chargedNanos + sum.heldNanos < spendLimit);
    }
    case 'credit':
      return balanceNanos - sum.chargedNanos - sum.heldNanos >= hold;
  }
}

/**
 * Whether a limit that refused requests was really exhausted in the end. No request used less than
 * was reserved.
 */
export function isUsedUp(all: readonly Admitted[], limit: Limit, plan: RoundPlan, allowance: Allowance): boolean {
  const charged = all.reduce((sum, { row }) => sum + BigInt(row.cost_nanos), 0n);
  const tokens = all.reduce((sum, { row }) => sum + row.prompt_tokens + row.completion_tokens, 0);
  const { limits, balanceNanos } = allowance;
  if (limit === 'tpm') return tokens + INPUT_TOKENS + plan.declaredTokens > (limits.tpm ?? 0);
  if (limit === 'spend' || limit === 'budget') return charged >= spendLimitOf(allowance);
  return limit !== 'credit' || balanceNanos - charged < costNanos(plan.declaredTokens);
}
