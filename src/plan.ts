/** What a request is expected to use, before it is admitted: the tokens to reserve and the money to hold. */
import { expectedCost, type Model } from './catalog/catalog.ts';
import type { Nanos } from './core/money.ts';
import { estimateInput } from './wire/estimate.ts';
import type { ChatRequest } from './wire/request.ts';

/** A model that a request may go to. */
export interface Route {
  readonly model: Model;
  /** A maximum of output tokens to write into a request that declares none. */
  readonly capTokens: number | undefined;
}

/** What a request is expected to take, and where it may go. */
export interface Plan {
  readonly inputTokens: number;
  /** All choices together. */
  readonly outputTokens: number;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  /** The model that was asked for, and then those that stand in for it. */
  readonly routes: readonly Route[];
}

/**
 * What a request is expected to use, whichever of `models` serves it: the most of each. A declared maximum counts up to
 * what the model can give.
 */
export function planFor(request: ChatRequest, models: readonly Model[], capOutput: boolean): Plan {
  const inputTokens = estimateInput(request.messages, request.tools);
  const [first, ...others] = models.map((model) => planForOne(request, model, inputTokens, capOutput)) as [
    Plan,
    ...Plan[],
  ];
  return others.reduce(together, first);
}

function planForOne(request: ChatRequest, model: Model, inputTokens: number, capOutput: boolean): Plan {
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
    routes: [{ model, capTokens }],
  };
}

function together(a: Plan, b: Plan): Plan {
  const dearer = b.holdNanos > a.holdNanos ? b : a;
  return {
    ...dearer,
    reservedTokens: Math.max(a.reservedTokens, b.reservedTokens),
    routes: [...a.routes, ...b.routes],
  };
}
