/** What a request is expected to use, before it is admitted: the tokens to reserve and the money to hold. */
import type { Model } from '../catalog/catalog.ts';
import { expectedCost, hasPriceFor, pricesFor } from '../catalog/cost.ts';
import type { Nanos } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import type { AdmissionRequest } from '../ledger/ledger.ts';
import { estimateInput } from '../wire/estimate.ts';
import { foldCase } from '../wire/names.ts';
import type { ChatRequest } from '../wire/request.ts';

/** A model that a request may go to. */
export interface Route {
  readonly model: Model;
  /** The maximum of output tokens to write where the request lacks the one that its host reads; undefined for no cap. */
  readonly capTokens: number | undefined;
}

/** What a request is expected to use, and where it may go. */
export interface Plan {
  readonly inputTokens: number;
  /** Over all choices. */
  readonly outputTokens: number;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  /** The model that was asked for, then its fallbacks. */
  readonly routes: readonly [Route, ...Route[]];
}

/**
 * The plans to ask admission for, in order: for `models` together (the maximum over them, since admission must hold
 * whichever serves), then for the first alone, so that its fallbacks never keep it from being served. A declared maximum
 * counts up to what the first model can give; only fallbacks that can give it take part.
 */
export function plansFor(
  request: ChatRequest,
  [asked, ...fallbacks]: readonly [Model, ...Model[]],
  capOutput: boolean,
): readonly [Plan, ...Plan[]] {
  const inputTokens = estimateInput(request);
  const plan = (model: Model) => planForOne(request, model, inputTokens, capOutput);
  const alone = plan(asked);
  const others = fallbacks
    .filter((model) => canGive(model, request.maxOutput) && problemAt(request, model) === undefined)
    .map(plan);
  return others.length === 0 ? [alone] : [others.reduce(combine, alone), alone];
}

function planForOne(request: ChatRequest, model: Model, inputTokens: number, capOutput: boolean): Plan {
  const declared = request.maxOutput;
  const perChoice = Math.min(declared ?? model.defaultOutput, model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  const outputTokens = perChoice * request.choices;
  const capTokens = capOutput ? perChoice : undefined;
  const isBounded = declared !== undefined || capTokens !== undefined;
  return {
    inputTokens,
    outputTokens,
    reservedTokens: inputTokens + (isBounded ? outputTokens : 0),
    holdNanos: expectedCost(pricesFor(model, request.serviceTier), inputTokens, outputTokens, request.hasAudio),
    routes: [{ model, capTokens }],
  };
}

/** What keeps a valid request from being sent to a model: a field that its provider refuses, or that has no price. */
export function problemAt({ body, serviceTier }: ChatRequest, model: Model): string | undefined {
  if (!hasPriceFor(model, serviceTier)) {
    const tiers = ['auto', 'default', ...model.serviceTiers.keys()];
    return `service_tier: this model has no price for ${JSON.stringify(serviceTier)}; expected one of ${tiers.join(', ')}`;
  }
  if (model.refuseFields.length === 0) return undefined;
  const refused = new Set(model.refuseFields.map(foldCase));
  const field = body.members.find(({ key }) => refused.has(foldCase(key)));
  return field && `${printableName(field.key)}: requests to this provider may not have this field`;
}

/** A host rejects a declared maximum that is beyond its model. */
function canGive({ maxOutput = Number.MAX_SAFE_INTEGER }: Model, declared = 0): boolean {
  return declared <= maxOutput;
}

function combine(a: Plan, b: Plan): Plan {
  const costlier = b.holdNanos > a.holdNanos ? b : a;
  return {
    ...costlier,
    reservedTokens: Math.max(a.reservedTokens, b.reservedTokens),
    routes: [...a.routes, ...b.routes],
  };
}

/** What a plan asks admission for. */
export function admissionRequest(requestId: string, keyHash: string, stream: boolean, plan: Plan): AdmissionRequest {
  const { reservedTokens, inputTokens, outputTokens, holdNanos, routes } = plan;
  const [asked, ...others] = routes;
  const fallbacks = others.length > 0 && { fallbacks: others.map(({ model }) => model.id) };
  return {
    requestId,
    keyHash,
    model: asked.model.id,
    reservedTokens,
    inputTokens,
    outputTokens,
    holdNanos,
    stream,
    ...fallbacks,
  };
}
