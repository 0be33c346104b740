/** What a model costs, and how much it can give. */
import type { Nanos } from './money.ts';

/** The provider in a model id: what comes before the first slash. */
export function providerOf(modelId: string): string {
  return modelId.split('/', 1)[0] as string;
}

/** Prices are in nanodollars per million tokens. */
export interface ModelTerms {
  /** The upstream's own name for the model. */
  readonly upstream: string;
  readonly input: Nanos;
  readonly cachedInput: Nanos;
  readonly output: Nanos;
  /** The most tokens that one answer can have; undefined where there is no bound. */
  readonly maxOutput: number | undefined;
  /** What is held as output, in tokens, where a request declares no maximum. */
  readonly defaultOutput: number;
  /** Ids of the models that stand in for it where it cannot be had, the best first. */
  readonly fallback: readonly string[];
}
