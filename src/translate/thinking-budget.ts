/** Budgets of thinking as efforts. */

/** The largest budgets, in tokens, that are a low and a medium effort. */
const LOW_BUDGET = 4_096;
const MEDIUM_BUDGET = 16_384;

/** Undefined for what is no number. */
export function effortOfBudget(budget: unknown): string | undefined {
  if (typeof budget !== 'number') return undefined;
  if (budget <= LOW_BUDGET) return 'low';
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}
