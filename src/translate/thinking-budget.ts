/** Budgets of thinking: as efforts, and within a maximum. */
import type { Fields } from '../dialects/dialect.ts';

/** The largest budgets, in tokens, that are a low and a medium effort. */
const LOW_BUDGET = 4_096;
const MEDIUM_BUDGET = 16_384;

/** Undefined for what is no number. */
export function effortOfBudget(budget: unknown): string | undefined {
  if (typeof budget !== 'number') return undefined;
  if (budget <= LOW_BUDGET) return 'low';
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** The least budget that Claude takes. It has to be less than the maximum of the answer. */
const LEAST_BUDGET = 1_024;

/** `thinking` of the messages dialect with a budget that a maximum of output has room for, if it can have any. */
export function thinkingWithin(thinking: Fields, maximum: number | undefined): Fields {
  const { budget_tokens: budget } = thinking;
  const isTooMuch = maximum !== undefined && maximum > LEAST_BUDGET && typeof budget === 'number' && budget >= maximum;
  return isTooMuch ? { ...thinking, budget_tokens: maximum - 1 } : thinking;
}
