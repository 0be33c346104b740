/** How much a model may think that its host bills and does not show. */
import type { Model } from '../catalog/catalog.ts';
import { traitsOf } from '../catalog/model-traits.ts';
import type { ModelRequest } from '../dialects/dialect.ts';

/** Of so many tokens that a model could have written in a choice while it showed nothing, those that it may have, in all choices. */
export function thoughtAtMost(request: ModelRequest, model: Model, tokens: number): number {
  const { maxOutput = Number.POSITIVE_INFINITY } = model;
  return Math.min(tokens, hiddenThinking(request, model), maxOutput) * request.choices;
}

/**
 * The most tokens per choice; infinite if nothing but the maximum of the request bounds them. A model that thinks by
 * itself may not know the bound of a request.
 */
export function hiddenThinking({ hiddenThinking: said }: ModelRequest, model: Model): number {
  if (said === 0) return 0;
  return traitsOf(model).thinks ? Number.POSITIVE_INFINITY : (said ?? 0);
}
