/** Converts thinking budgets to efforts, and limits them to the output maximum. */
import type { Fields } from '../dialects/dialect.ts';

/** Largest budgets of the efforts `low` and `medium`, in tokens. */
const LOW_BUDGET = 4_096;
const MEDIUM_BUDGET = 16_384;

/** Returns undefined for a value that is not a number. */
export function effortOfBudget(budget: unknown): string | undefined {
  if (typeof budget !== 'number') return undefined;
  if (budget <= LOW_BUDGET) return 'low';
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** Minimum budget of Claude. It must be below the output maximum. */
const LEAST_BUDGET = 1_024;

/** Limits the budget in `thinking` to the output maximum, if that exceeds the minimum budget. */
export function thinkingWithin(thinking: Fields, maximum: number | undefined): Fields {
  const { budget_tokens: budget } = thinking;
  const isTooMuch = maximum !== undefined && maximum > LEAST_BUDGET && typeof budget === 'number' && budget >= maximum;
  return isTooMuch ? { ...thinking, budget_tokens: maximum - 1 } : thinking;
}
