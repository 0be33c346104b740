/** Bounds the thinking that a host bills but does not show. */
import type { Model } from '../catalog/catalog.ts';
import { traitsOf } from '../catalog/model-traits.ts';
import type { ModelRequest } from '../dialects/dialect.ts';

/** Limits `tokens`, the hidden output that a choice had time for, to the possible thinking, and returns it for all choices. */
export function thoughtAtMost(request: ModelRequest, model: Model, tokens: number): number {
  const { maxOutput = Number.POSITIVE_INFINITY } = model;
  return Math.min(tokens, hiddenThinking(request, model), maxOutput) * request.choices;
}

/**
 * The maximum of hidden thinking tokens per choice; infinite if only the maximum of the request bounds it. A model that
 * always thinks may ignore the bound of a request.
 */
export function hiddenThinking({ hiddenThinking: declared }: ModelRequest, model: Model): number {
  if (declared === 0) return 0;
  return traitsOf(model).thinks ? Number.POSITIVE_INFINITY : (declared ?? 0);
}
