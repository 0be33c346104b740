/** What a request is expected to use, before it is admitted: the tokens to reserve and the money to hold. */
import { expectedCost, type Model } from '../catalog/catalog.ts';
import type { Nanos } from '../core/money.ts';
import { estimateInput } from '../wire/estimate.ts';
import type { ChatRequest } from '../wire/request.ts';

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
  /** The same for the model alone, where others stand in for it: they must not keep it from being served itself. */
  readonly alone: Plan | undefined;
}

/**
 * What a request is expected to use, whichever of `models` serves it: the most of each. A declared maximum counts up to
 * what the first one can give; of the others, those count and serve that can give it.
 */
export function planFor(request: ChatRequest, models: readonly Model[], capOutput: boolean): Plan {
  const inputTokens = estimateInput(request.messages, request.tools);
  const plan = (model: Model) => planForOne(request, model, inputTokens, capOutput);
  const [asked, ...standIns] = models as readonly [Model, ...Model[]];
  const first = plan(asked);
  const others = standIns.filter((model) => canGive(model, request.maxOutput)).map(plan);
  return others.length === 0 ? first : { ...others.reduce(together, first), alone: first };
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
    alone: undefined,
  };
}

/** A host refuses a declared maximum that is beyond its model. */
function canGive({ maxOutput = Number.MAX_SAFE_INTEGER }: Model, declared = 0): boolean {
  return declared <= maxOutput;
}

function together(a: Plan, b: Plan): Plan {
  const dearer = b.holdNanos > a.holdNanos ? b : a;
  return {
    ...dearer,
    reservedTokens: Math.max(a.reservedTokens, b.reservedTokens),
    routes: [...a.routes, ...b.routes],
  };
}
