/** What the truthful host's models cost: by tokens, and by what changes a price. */
import type { Bill, Special } from './conversation.ts';

/** Nanodollars for a token. */
export interface HostPrices {
  readonly input: number;
  readonly output: number;
}

/** The host's models, by its own names: prices a sender may want to pass one for the other. */
export const HOST_MODELS: Readonly<Record<string, HostPrices>> = {
  'vendor-cheap': { input: 2_500, output: 10_000 },
  'vendor-dear': { input: 25_000, output: 100_000 },
  'vendor-long': { input: 2_500, output: 10_000 },
};
/** This model costs twice as much for all of a request with more tokens of input than that. */
const LONG_MODEL = 'vendor-long';
export const LONG_INPUT_TOKENS = 2_000;
const LONG_FACTOR = 2;

/** What a service tier multiplies prices by. */
export const SERVICE_TIERS: Readonly<Record<string, number>> = { priority: 2, flex: 0.5 };
/** Nanodollars for a token of these kinds, instead of the model's price. */
export const SPECIAL_PRICES: Readonly<Special> = { cacheWrite: 25_000, audioInput: 40_000, audioOutput: 80_000 };
const NONE: HostPrices = { input: 0, output: 0 };

/** Nanodollars. `special` says how many tokens of input and output are of another kind. */
export function priceOf(bill: Bill, { cacheWrite = 0, audioInput = 0, audioOutput = 0 }: Partial<Special>): number {
  const { input, output } = HOST_MODELS[bill.model] ?? NONE;
  const isLong = bill.model === LONG_MODEL && bill.inputTokens > LONG_INPUT_TOKENS;
  const factor = (SERVICE_TIERS[bill.serviceTier ?? ''] ?? 1) * (isLong ? LONG_FACTOR : 1);
  const plain = (bill.inputTokens - cacheWrite - audioInput) * input + (bill.outputTokens - audioOutput) * output;
  const special =
    cacheWrite * SPECIAL_PRICES.cacheWrite +
    audioInput * SPECIAL_PRICES.audioInput +
    audioOutput * SPECIAL_PRICES.audioOutput;
  return factor * plain + special;
}
