/** The steps of an explanation, with the figures that decide each. Pure. */
import type { Model } from '../catalog/catalog.ts';
import { pricesAtLength, pricesFor } from '../catalog/cost.ts';
import { mediaPricesOf } from '../catalog/media.ts';
import { priceText } from '../catalog/price-text.ts';
import { dearestCall, toolsFor } from '../catalog/tool-cost.ts';
import { type BudgetSpend, budgetJson } from '../core/budgets.ts';
import type { ClientError } from '../core/errors.ts';
import { type ExplainedStep, okStep, type StepStatus } from '../core/explanation.ts';
import type { Media } from '../core/modalities.ts';
import type { Prices } from '../core/model-terms.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { isUnit, unitText } from '../core/units.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { inputParts } from '../dialects/input.ts';
import type { AtLevel, KeyStanding, LevelStanding, Refusal } from '../ledger/ledger.ts';
import { NO_UPSTREAM_AVAILABLE } from '../relay/failures.ts';
import type { Provider } from '../upstream/provider.ts';
import { tokensOfOneImage } from './media.ts';
import type { Permitted, Plan, Route } from './plan.ts';
import { causeOf } from './refusals.ts';

export function keyStep({ keyId, name, limits }: KeyStanding): ExplainedStep {
  const { rpm, tpm, concurrency } = limits;
  return okStep('key', `${name}, enabled`, { key: name, key_id: keyId, limits: { rpm, tpm, concurrency } });
}

/** The translation of the body for each candidate model. */
export function requestStep({ request, targets }: Permitted): ExplainedStep {
  const translations = targets.map(({ model, request: sent, response, ignored }) => ({
    model: model.id,
    dialect: sent.dialect.name,
    is_translated: response !== undefined,
    left_out: ignored,
  }));
  const [first] = translations;
  const lost = first?.left_out.length ? `; left out: ${first.left_out.join(', ')}` : '';
  const message = first?.is_translated
    ? `valid; translated from ${request.dialect.name} to ${first.dialect}${lost}`
    : 'valid; its bytes go through unchanged but for the name of the model';
  return okStep('request', message, { stream: request.stream, choices: request.choices, hosts: translations });
}

/** The estimate for the requested model; the reserved tokens also cover its fallbacks. */
export function estimateStep({ request }: Permitted, { routes, reservedTokens }: Plan): ExplainedStep {
  const [route] = routes;
  const { model, hosted, inputTokens, outputTokens } = route;
  const { request: sent } = hosted;
  const textTokens = Math.min(inputParts(request).textTokens, inputTokens);
  const otherTokens = inputTokens - textTokens;
  const declared = sent.outputAt === undefined ? sent.maxOutput : undefined;
  const message = model.isWithoutTokenPrices
    ? `no tokens: ${model.id} is billed by the piece alone`
    : `${counted(inputTokens, 'token', undefined, count)} of input (text ${count(textTokens)}, the rest ${count(otherTokens)}) and ` +
      `${count(outputTokens)} of output ` +
      `(${outputReason(sent, route)}); ${count(reservedTokens)} reserved`;
  return okStep('estimate', message, {
    input_tokens: inputTokens,
    text_tokens: textTokens,
    other_tokens: otherTokens,
    declared_output_tokens: declared ?? null,
    output_tokens: outputTokens,
    reserved_tokens: reservedTokens,
  });
}

/** The reason for the estimate of the output. */
function outputReason(sent: ModelRequest, { model, outputTokens, media }: Route): string {
  const { maxOutput, outputAt, dialect } = sent;
  const { id } = model;
  if (outputTokens === tokensOfOneImage(sent, model, media)) return `an image, which ${id} may return`;
  if (outputAt !== undefined) return `the most that ${id} makes of it`;
  if (dialect.maximumField === undefined) return 'its answers have none';
  if (maxOutput === undefined) return `no maximum is declared, so default_output of ${id}`;
  return `the declared maximum${maxOutput > outputTokens ? ', as far as it is held for at first' : ''}`;
}

export function priceStep({ routes, alias }: Plan): ExplainedStep {
  const [{ model, hosted, inputTokens, media }] = routes;
  const { serviceTier: requestedTier } = hosted.request;
  const prices = pricesAtLength(pricesFor(model, requestedTier), inputTokens);
  const { input, cachedInput, output } = prices;
  const ofMedia = mediaPricesOf(prices).filter(([name]) => mayCost(name, media));
  const from = model.pricesOf === undefined ? 'the config' : `the price file of ${model.pricesOf}`;
  const units = unitsIn(model, hosted.request);
  const texts = [
    ...(model.isWithoutTokenPrices ? [] : [tokenPricesText(prices, ofMedia)]),
    ...units.map(({ text, usd }) => `${usd} USD ${unitText(text)}`),
  ];
  return okStep('price', `${texts.join(', ')}, from ${from}`, {
    input_usd: formatUsd(input),
    cached_input_usd: formatUsd(cachedInput),
    output_usd: formatUsd(output),
    ...Object.fromEntries(ofMedia.map(([name, price]) => [`${name}_usd`, formatUsd(price)])),
    ...(units.length > 0 && { units }),
    price_file: model.pricesOf ?? null,
    journal: priceText(model, { requestedTier, inputTokens, alias }),
  });
}

/** The flag that each price of audio or images depends on. Cached audio is charged, but not held for. */
const FLAGS: Readonly<Record<string, keyof Media>> = {
  audio_input: 'hears',
  audio_output: 'speaks',
  image_input: 'sees',
  image_output: 'draws',
};

function mayCost(name: string, media: Media): boolean {
  const flag = FLAGS[name];
  return flag !== undefined && media[flag];
}

function tokenPricesText({ input, output }: Prices, ofMedia: ReturnType<typeof mediaPricesOf>): string {
  const others = ofMedia.map(([name, price]) => `${formatUsd(price)} for ${name}, `);
  return `${formatUsd(input)} in, ${formatUsd(output)} out, ${others.join('')}USD per million tokens`;
}

/** The held units, with the highest price of each. */
function unitsIn(model: Model, { serviceTier, hostTools }: ModelRequest) {
  const prices = pricesFor(model, serviceTier);
  return toolsFor(model, prices, hostTools)
    .filter(isUnit)
    .map((tool) => {
      const { text, call } = dearestCall(prices, [tool]);
      return { text, units: tool.calls, call };
    })
    .filter(({ call }) => call > 0n)
    .map(({ call, ...unit }) => ({ ...unit, usd: formatUsd(call) }));
}

export function holdStep({ request }: Permitted, plan: Plan, capOutput: boolean): ExplainedStep {
  const growth = request.stream ? ', which grows with what the stream writes' : '';
  const models = plan.routes.map(({ model }) => model.id);
  const over = models.length > 1 ? `, the most of ${models.join(', ')}` : '';
  return okStep('hold', `${formatUsd(plan.holdNanos)} USD${over}${growth}`, {
    hold_usd: formatUsd(plan.holdNanos),
    models,
    cap_output: capOutput,
  });
}

export type LevelName = NonNullable<AtLevel['level']>;

interface Check {
  readonly step: string;
  /** The refusal reason that this check corresponds to; `level` and `period` narrow it down. */
  readonly reason: Refusal['reason'];
  readonly level: LevelName | undefined;
  readonly period?: string;
  readonly message: string;
  readonly figures: Readonly<Record<string, unknown>>;
}

/** A level and its standing. The key's own level has no name. */
interface Level {
  readonly level: LevelName | undefined;
  readonly at: LevelStanding;
}

/** From inside out: the end user of the key precedes the key. */
function levelsOf(standing: KeyStanding): readonly Level[] {
  const own: Level = { level: undefined, at: standing };
  const outer = standing.outer.map((at): Level => {
    const { kind, name, of, own } = at;
    return { level: { kind, name, ...(of !== undefined && { of }), ...(own !== undefined && { own }) }, at };
  });
  const ownUsers = outer.findIndex(({ level }) => level?.of !== 'key' || level.name !== standing.name);
  return outer.toSpliced(ownUsers < 0 ? outer.length : ownUsers, 0, own);
}

/** The first level that is switched off. */
export function levelOff(standing: KeyStanding): Level | undefined {
  return levelsOf(standing).find(({ at }) => at.isDisabled);
}

/** The first level that does not allow a model. */
export function levelWithout(standing: KeyStanding, model: string): Level | undefined {
  return levelsOf(standing).find(({ at: { allowlist } }) => allowlist?.includes(model) === false);
}

/** Lists the checks in the order of admission. `refusal` is the decision of the ledger. */
export function checkSteps(standing: KeyStanding, plan: Plan, refusal: Refusal | null): ExplainedStep[] {
  const levels = levelsOf(standing);
  const checks = [
    ...levels.flatMap(spendChecks),
    creditCheck(standing, plan),
    ...rateChecks(levels, plan),
    ...levels.flatMap(heldCheck),
    heldInAllCheck(standing, plan),
  ];
  const refusedAt = refusal === null ? checks.length : checks.findIndex((check) => isOf(check, refusal));
  return checks.map(({ step, level, message, figures }, index) => {
    const status: StepStatus = index < refusedAt ? 'ok' : index === refusedAt ? 'refused' : 'skipped';
    const cause = status === 'refused' && refusal !== null ? `${causeOf(refusal)}: ` : '';
    const whose = level === undefined ? '' : `${level.kind === 'user' ? 'end user' : `${level.kind} ${level.name}`}: `;
    return { step, status, message: cause + whose + message, ...(level !== undefined && { level }), ...figures };
  });
}

function isOf({ reason, level, period }: Check, refusal: Refusal): boolean {
  if (reason !== refusal.reason) return false;
  const of = 'level' in refusal ? refusal.level : undefined;
  const spent = refusal.reason === 'spend_limit_reached' ? refusal.budget?.period : undefined;
  return level?.kind === of?.kind && level?.name === of?.name && level?.of === of?.of && period === spent;
}

/** The key has a monthly check even without a limit, which shows the month's spending. */
function spendChecks({ level, at }: Level): Check[] {
  const { spendLimitNanos: limit, chargedNanos: charged } = at;
  const ofMonth: Check = {
    step: 'spend_limit',
    reason: 'spend_limit_reached',
    level,
    message:
      limit === null
        ? `no limit; ${formatUsd(charged)} USD this month`
        : `${formatUsd(charged)} of ${formatUsd(limit)} USD this month, ${left(limit - charged)} left`,
    figures: {
      limit_usd: limit === null ? null : formatUsd(limit),
      spent_usd: formatUsd(charged),
      left_usd: limit === null ? null : left(limit - charged),
    },
  };
  const budgets = at.budgets.map((spend) => budgetCheck(spend, level));
  return level !== undefined && limit === null ? budgets : [ofMonth, ...budgets];
}

function budgetCheck(spend: BudgetSpend, level: LevelName | undefined): Check {
  const { period, limitNanos: limit, chargedNanos: charged } = spend;
  return {
    step: 'budget',
    reason: 'spend_limit_reached',
    level,
    period,
    message: `${formatUsd(charged)} of ${formatUsd(limit)} USD of the budget ${period}, ${left(limit - charged)} left`,
    figures: { ...budgetJson(spend), left_usd: left(limit - charged) },
  };
}

function creditCheck({ balanceNanos, creditEnforced }: KeyStanding, { holdNanos }: Plan): Check {
  return {
    step: 'credit',
    reason: 'insufficient_credit',
    level: undefined,
    message: creditEnforced
      ? `balance ${formatUsd(balanceNanos)} USD, the hold is ${formatUsd(holdNanos)}`
      : 'credit is off: the balance is not checked',
    figures: { enforced: creditEnforced, balance_usd: formatUsd(balanceNanos), hold_usd: formatUsd(holdNanos) },
  };
}

/** Runs each check on all levels before the next check. A level without the limit has no check. */
function rateChecks(levels: readonly Level[], { reservedTokens }: Plan): Check[] {
  const check = (
    step: 'requests_per_minute' | 'tokens_per_minute' | 'concurrency',
    what: string,
    need: number,
    read: (at: LevelStanding) => { readonly used: number; readonly limit: number },
  ): Check[] =>
    levels.flatMap(({ level, at }) => {
      const { used, limit } = read(at);
      if (!Number.isFinite(limit)) return [];
      const free = Math.max(0, limit - used);
      const message = `${count(used)} of ${count(limit)} ${what}, ${count(free)} left; needs ${count(need)}`;
      return [{ step, reason: step, level, message, figures: { limit, used, left: free, needs: need } }];
    });
  const size = levels.flatMap(({ level, at: { limits } }): Check[] => {
    if (!Number.isFinite(limits.tpm)) return [];
    const message = `${counted(reservedTokens, 'token', undefined, count)}, of at most ${count(limits.tpm)} a minute`;
    const figures = { limit: limits.tpm, needs: reservedTokens };
    return [{ step: 'size', reason: 'larger_than_token_limit', level, message, figures }];
  });
  return [
    ...size,
    ...check('requests_per_minute', 'requests in the last minute', 1, ({ requests, limits }) => ({
      used: requests,
      limit: limits.rpm,
    })),
    ...check('tokens_per_minute', 'tokens in the last minute', reservedTokens, ({ tokens, limits }) => ({
      used: tokens,
      limit: limits.tpm,
    })),
    ...check('concurrency', 'requests in flight', 1, ({ slots, limits }) => ({
      used: slots,
      limit: limits.concurrency,
    })),
  ];
}

/** Money held at the outer levels. The money held for the key is part of the account's check. */
function heldCheck({ level, at }: Level): Check[] {
  if (level === undefined || (at.spendLimitNanos === null && at.budgets.length === 0)) return [];
  const held = formatUsd(at.heldOfKeyNanos);
  const message = `${held} USD held for requests in flight`;
  return [{ step: 'held_money', reason: 'money_spoken_for', level, message, figures: { held_usd: held } }];
}

function heldInAllCheck(standing: KeyStanding, { holdNanos }: Plan): Check {
  const { balanceNanos, heldNanos, heldOfKeyNanos } = standing;
  const free = balanceNanos - heldNanos;
  return {
    step: 'held_money',
    reason: 'money_spoken_for',
    level: undefined,
    message: `${formatUsd(heldNanos)} USD held for requests in flight, ${formatUsd(heldOfKeyNanos)} of them of this key; ${formatUsd(free)} of the balance is free`,
    figures: {
      held_usd: formatUsd(heldNanos),
      held_of_key_usd: formatUsd(heldOfKeyNanos),
      free_usd: formatUsd(free),
      hold_usd: formatUsd(holdNanos),
    },
  };
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function left(nanos: Nanos): string {
  return formatUsd(nanos > 0n ? nanos : 0n);
}

/** The next upstream, and the other candidates. */
export function routeStep(
  { routes }: Plan,
  providers: ReadonlyMap<string, Provider>,
): { readonly step: ExplainedStep; readonly error: ClientError | undefined } {
  const providerOf = (name: string) => providers.get(name) as Provider;
  const nextAt = (among: 'available' | 'last_resort') =>
    routes
      .map(({ model }) => ({ model, member: providerOf(model.provider).next(model.upstream, among) }))
      .find(({ member }) => member !== undefined);
  const next = nextAt('available') ?? nextAt('last_resort');
  const candidates = routes.map(({ model, capTokens }) => ({
    model: model.id,
    upstream_model: model.upstream,
    cap_tokens: capTokens ?? null,
    upstreams: providerOf(model.provider).members.map(({ name, state, weight, inFlight }) => ({
      name,
      state,
      weight,
      in_flight: inFlight,
      is_next: name === next?.member?.name && model === next.model,
    })),
  }));
  const isServed = next?.member !== undefined;
  const others = candidates.flatMap(({ upstreams }) => upstreams).length - 1;
  const message = isServed
    ? `to ${next.member?.name} as ${next.model.upstream}${others > 0 ? `, with ${others} more to try` : ''}`
    : 'every upstream is backing off or has an open circuit';
  const status: StepStatus = isServed ? 'ok' : 'refused';
  return {
    step: { step: 'route', status, message, candidates },
    error: isServed ? undefined : NO_UPSTREAM_AVAILABLE,
  };
}
