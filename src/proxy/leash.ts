/** The output maximum of a request on a leash: the largest one that the remaining budget of its key pays for. */
import type { Nanos } from '../core/money.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { KeyStanding, Ledger, LevelStanding } from '../ledger/ledger.ts';
import { heldNanos, type Plan, predictedOutput, type Route, targetFor } from './plan.ts';
import { hiddenThinking } from './thinking.ts';

/** The maximum of a model whose `max_output` is unknown, in tokens. */
const UNKNOWN_MAX_OUTPUT = 32_768;

/** An admitted request that declares no maximum and whose key is on a leash. */
export interface LeashedRequest {
  readonly requestId: string;
  readonly keyId: string;
  /** The client's request. */
  readonly request: ModelRequest;
  /** The admitted plan: its hold covers the first step of the output. */
  readonly plan: Plan;
}

/**
 * Sets the maximum of each route to the largest that the budget pays for. A stream keeps the hold of its first step, which
 * grows while it writes. Any other answer arrives whole, and hidden thinking is seen only at the end, so their maximum is
 * held before they are sent. If the ledger does not answer, the request keeps the maximum that its admission holds.
 */
export async function boundByBudget(leashed: LeashedRequest, ledger: Pick<Ledger, 'grow' | 'forecast'>): Promise<Plan> {
  const { plan, request, requestId, keyId } = leashed;
  const { routes, holdNanos } = plan;
  try {
    const growsLater =
      request.stream && routes.every(({ model, hosted }) => hiddenThinking(hosted.request, model) === 0);
    if (growsLater) {
      const forecast = await ledger.forecast({ keyId, requests: [] });
      const left = forecast.kind === 'known' ? moneyLeft(forecast.standing) : 0n;
      return withMaxima(plan, request, left === undefined ? undefined : holdNanos + positive(left));
    }
    const full = withMaxima(plan, request, undefined);
    const wanted = full.routes.map((route) => costOf(route, route.maximumTokens ?? 0)).reduce(larger, holdNanos);
    const outputTokens = mostOutput(full.routes.map(heldInFull));
    const grant = await ledger.grow({ requestId, outputTokens, holdNanos: wanted });
    if (!grant.granted) return plan;
    const { routes: bounded } = withMaxima(plan, request, grant.holdNanos);
    const [first, ...others] = bounded;
    const held = [heldInFull(first), ...others.map(heldInFull)] as const;
    return { ...plan, routes: held, holdNanos: grant.holdNanos, outputTokens: mostOutput(held) };
  } catch {
    return plan;
  }
}

/** The plan for a key with this standing, for a forecast. */
export function boundByStanding(plan: Plan, request: ModelRequest, standing: KeyStanding): Plan {
  const left = moneyLeft(standing);
  return withMaxima(plan, request, left === undefined ? undefined : positive(left));
}

/** The smallest remainder of the spending limits and the balance, less open holds. Undefined without any limit. */
function moneyLeft(standing: KeyStanding): Nanos | undefined {
  const { creditEnforced, balanceNanos, heldNanos, outer } = standing;
  const amounts = [standing, ...outer].flatMap(leftAt);
  if (creditEnforced) amounts.push(balanceNanos - heldNanos);
  return amounts.length === 0 ? undefined : amounts.reduce((a, b) => (b < a ? b : a));
}

function leftAt({ spendLimitNanos, chargedNanos, heldOfKeyNanos, budgets }: LevelStanding): Nanos[] {
  const limits = budgets.map(({ limitNanos, chargedNanos: charged }) => limitNanos - charged);
  if (spendLimitNanos !== null) limits.push(spendLimitNanos - chargedNanos);
  return limits.map((left) => left - heldOfKeyNanos);
}

/** `money`: for the whole request; undefined without a bound. */
function withMaxima(plan: Plan, request: ModelRequest, money: Nanos | undefined): Plan {
  const [first, ...others] = plan.routes;
  const bound = (route: Route) => withMaximum(route, request, money);
  return { ...plan, routes: [bound(first), ...others.map(bound)] };
}

function withMaximum(route: Route, request: ModelRequest, money: Nanos | undefined): Route {
  const { model, hosted, capTokens: heldTokens = 1 } = route;
  const { choices } = hosted.request;
  const maxOutput = model.maxOutput ?? UNKNOWN_MAX_OUTPUT;
  const paid = money === undefined ? maxOutput : Math.floor(tokensFor(money, route, maxOutput * choices) / choices);
  const capTokens = Math.min(maxOutput, Math.max(heldTokens, paid));
  // A translation derives other fields from the maximum, such as the budget for thinking.
  const translated = hosted.response && targetFor(request, { ...model, maxOutput: capTokens });
  return {
    ...route,
    hosted: translated?.ok === true ? translated.target : hosted,
    capTokens,
    maximumTokens: capTokens * choices,
  };
}

/** The output tokens that an amount pays for after the input, at most `mostTokens`. */
function tokensFor(money: Nanos, route: Route, mostTokens: number): number {
  const atMost = costOf(route, mostTokens);
  if (atMost <= money) return mostTokens;
  const input = costOf(route, 0);
  if (input >= money) return 0;
  return Number(((money - input) * BigInt(mostTokens)) / (atMost - input));
}

function costOf(route: Route, outputTokens: number): Nanos {
  return heldNanos({ ...route, outputTokens: outputTokens + predictedOutput(route.hosted.request) });
}

/** The route with a hold for its full maximum. */
function heldInFull(route: Route): Route {
  const { maximumTokens = 0, hosted } = route;
  return { ...route, outputTokens: maximumTokens + predictedOutput(hosted.request) };
}

function mostOutput(routes: readonly Route[]): number {
  return Math.max(...routes.map(({ outputTokens }) => outputTokens));
}

function larger(a: Nanos, b: Nanos): Nanos {
  return b > a ? b : a;
}

function positive(nanos: Nanos): Nanos {
  return nanos > 0n ? nanos : 0n;
}
