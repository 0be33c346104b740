/** What a request is expected to use, before it is admitted: the tokens to reserve and the money to hold. */
import { expectedCost, type Model } from './catalog/catalog.ts';
import type { Nanos } from './core/money.ts';
import { estimateInput } from './wire/estimate.ts';
import type { ChatRequest } from './wire/request.ts';

/** What a request is expected to take, and what it is allowed to. */
export interface Plan {
  readonly inputTokens: number;
  /** All choices together. */
  readonly outputTokens: number;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  readonly capTokens: number | undefined;
}

/** What a request is expected to use. A declared maximum counts up to what the model can give. */
export function planFor(request: ChatRequest, model: Model, capOutput: boolean): Plan {
  const inputTokens = estimateInput(request.messages, request.tools);
  const declared = request.maxOutput;
  const perChoice = Math.min(declared ?? model.defaultOutput, model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  const outputTokens = perChoice * request.choices;
  const capTokens = declared === undefined && capOutput ? perChoice : undefined;
  const isBounded = declared !== undefined || capTokens !== undefined;
  return {
    inputTokens,
    outputTokens,
    reservedTokens: inputTokens + (isBounded ? outputTokens : 0),
    holdNanos: expectedCost(model, inputTokens, outputTokens),
    capTokens,
  };
}
