/** The terms of a model: its prices, its maximum output, and its fallbacks. */
import type { Nanos } from './money.ts';

/** The provider in a model id: the part before the first slash. */
export function providerOf(modelId: string): string {
  return modelId.split('/', 1)[0] as string;
}

/** Prices in nanodollars per million tokens. */
export interface ModelTerms {
  /** The name that the upstream has for the model. */
  readonly upstream: string;
  readonly input: Nanos;
  readonly cachedInput: Nanos;
  readonly output: Nanos;
  /** The most output tokens of one answer; undefined if unlimited. */
  readonly maxOutput: number | undefined;
  /** The output tokens to hold money for if a request declares no maximum. */
  readonly defaultOutput: number;
  /** Ids of the models to use while this one is unavailable, in the order of preference. */
  readonly fallback: readonly string[];
}
