/** The plan of a request before admission: the tokens to reserve and the money to hold. */
import type { Model } from '../catalog/catalog.ts';
import { expectedCost, hasPriceFor, possiblePrices, pricesFor, unpricedTier } from '../catalog/cost.ts';
import { unpricedAnswers } from '../catalog/media.ts';
import { priceText } from '../catalog/price-text.ts';
import { betaProblem, headerProblem } from '../catalog/refused-headers.ts';
import { foundTokens, toolProblem, toolsFor } from '../catalog/tool-cost.ts';
import { otherNumberProblem, unpricedFor } from '../catalog/units.ts';
import type { Media } from '../core/modalities.ts';
import type { Nanos } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import { isUnit } from '../core/units.ts';
import { attachmentProblem, mediaIn, pathTo } from '../dialects/attachments.ts';
import { betasIn } from '../dialects/betas.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { type InputParts, inputParts, tokensAt } from '../dialects/input.ts';
import type { AdmissionRequest } from '../ledger/ledger.ts';
import { type HostRequest, hostRequest } from '../translate/translate.ts';
import { foldCase } from '../wire/names.ts';
import { imagesProblem, isOfText, mediaAt, tokensOfOneImage, unpricedImages } from './media.ts';
import { hiddenThinking } from './thinking.ts';
import { readTokens } from './unreported.ts';

/** Client headers to pass on to a host of the same dialect, by lower-case name. */
export type DialectHeaders = Readonly<Record<string, string>>;

/** A candidate model, and the request for its host. */
export interface Target extends HostRequest {
  readonly model: Model;
}

/**
 * A request that its key may send, with its targets: the requested model, then the fallbacks that the key may use and that
 * can take the request.
 */
export interface Permitted {
  readonly request: ModelRequest;
  readonly headers: DialectHeaders;
  /** The end user; empty if the request names none. */
  readonly user: string;
  /** The requested name of the model, if it is not its id. */
  readonly alias: string | undefined;
  readonly targets: readonly [Target, ...Target[]];
  /** The stored content that it refers to. */
  readonly brought?: Brought;
}

/** Stored content that a request refers to, and the upstream that stores it. */
export interface Brought {
  readonly tokens: number;
  readonly upstream: string;
}

/** A candidate model with its estimates: models count input differently and write different amounts. */
export interface Route {
  readonly model: Model;
  readonly hosted: HostRequest;
  /** The estimated input at this model, if it is billed by tokens. */
  readonly inputTokens: number;
  /** The part of the input that is stored at the host and referenced by the request. */
  readonly broughtTokens: number;
  /** The output that the hold covers, over all choices. */
  readonly outputTokens: number;
  /** The maximum output to write into a request that lacks the field that its host reads; undefined for no cap. */
  readonly capTokens: number | undefined;
  /** The maximum output of the host, over all choices; undefined if the request sets no maximum. */
  readonly maximumTokens: number | undefined;
  /** Media that the host may bill in addition to text. */
  readonly media: Media;
  /** The required upstream, by name; undefined for any of the provider. */
  readonly upstream: string | undefined;
}

/**
 * The cap for requests without a declared maximum. `hold`: the output that the hold covers. `budget`: the output that the
 * key's remaining money pays for.
 */
export type OutputCap = 'none' | 'hold' | 'budget';

/** The amounts to request from admission, which cover every route, and the routes. */
export interface Plan {
  /** The input, output and price of the route with the highest hold, for the journal. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly price: string;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  /** The requested name of the model, if it is not its id. */
  readonly alias: string | undefined;
  /** Whether the key's budget bounds the output: the key is on a leash and the request declares no maximum. */
  readonly isOnLeash: boolean;
  /** The requested model, then its fallbacks. */
  readonly routes: readonly [Route, ...Route[]];
}

export function outputCap(capOutput: boolean, isLeashed: boolean): OutputCap {
  if (isLeashed) return 'budget';
  return capOutput ? 'hold' : 'none';
}

/** The plan of a request that is answered from the cache: it holds no money. */
export function planForCached([{ routes, ...plan }]: Plans): Plan {
  const zero = { inputTokens: 0, outputTokens: 0, reservedTokens: 0, holdNanos: 0n, isOnLeash: false };
  return { ...plan, ...zero, routes: [routes[0]] };
}

export type Plans = readonly [Plan, ...Plan[]];

/** `problem`: why the requested model cannot take this input. */
export type Planning = { readonly ok: true; readonly plans: Plans } | { readonly ok: false; readonly problem: string };

/**
 * The plans to request admission for, in order. The first covers all targets (the maximum over them, because any may serve);
 * the second covers the requested model alone, so that fallbacks never prevent admission. A declared maximum counts up to the
 * `max_output` of the requested model. Fallbacks that cannot give the maximum or take the input are left out.
 */
export function plansFor(permitted: Permitted, cap: OutputCap): Planning {
  const { request } = permitted;
  const [asked, ...fallbacks] = permitted.targets;
  const parts = inputParts(request);
  const media = mediaIn(parts.attachments);
  const own = inputAt(request, parts, asked);
  if (typeof own === 'string') return { ok: false, problem: own };
  const first = { tokens: own + (permitted.brought?.tokens ?? 0), media };
  const alone = planForOne(permitted, asked, first, cap);
  const others = fallbacks
    .filter(({ model }) => canGive(model, request.maxOutput))
    .flatMap((target) => {
      const tokens = inputAt(request, parts, target);
      return typeof tokens === 'number' ? [planForOne(permitted, target, { tokens, media }, cap)] : [];
    });
  return { ok: true, plans: others.length === 0 ? [alone] : [others.reduce(combine, alone), alone] };
}

/** The estimated input at one model, and whether it contains audio or images. */
interface EstimatedInput {
  readonly tokens: number;
  readonly media: Pick<Media, 'hears' | 'sees'>;
}

/** The input tokens at a model, the larger of the original and the translated request; or the problem with the input. */
function inputAt(
  request: ModelRequest,
  parts: InputParts,
  { model, response, request: sent }: Target,
): number | string {
  if (response === undefined) return tokensOr(request, parts, model);
  const own = tokensOr(request, withoutToolReferences(parts), model);
  if (typeof own === 'string') return own;
  const translated = tokensOr(sent, inputParts(sent), model);
  return typeof translated === 'string' ? translated : Math.max(own, translated);
}

/** Translations refuse or drop the tools of the client's own host, and with them the references of these tools. */
function withoutToolReferences({ attachments, ...others }: InputParts): InputParts {
  return { ...others, attachments: attachments.filter((each) => each.kind !== 'reference' || each.ofTool !== true) };
}

function tokensOr(request: ModelRequest, parts: InputParts, model: Model): number | string {
  const { body, hostTools } = request;
  const unpriced = unpricedImages(request, parts.attachments, model);
  if (unpriced !== undefined) return unpriced;
  // Prices of requests that may be billed by the second were checked before.
  const isHeard = model.audioInput !== undefined || hostTools.some(isUnit);
  const found = attachmentProblem(parts.attachments, model, isHeard);
  if (found === undefined) return tokensAt(parts, model);
  const { holder, field } = found.place;
  const path = pathTo(holder, body.fields);
  return `${path === '' ? '' : `${path}.`}${printableName(field)}: ${found.why}`;
}

function planForOne(
  { request, alias, brought }: Permitted,
  target: Target,
  estimated: EstimatedInput,
  cap: OutputCap,
): Plan {
  const { model, request: sent } = target;
  const own = sent.outputAt?.(model);
  const isOnLeash =
    cap === 'budget' && own === undefined && request.maxOutput === undefined && sent.dialect.maximumField !== undefined;
  // A translation may have added a maximum that the host requires. On a leash, it is replaced after admission.
  const declared = own ?? (isOnLeash ? undefined : sent.maxOutput);
  const undeclared = isOnLeash ? (model.holdOutput ?? model.defaultOutput) : model.defaultOutput;
  const media = mediaAt(sent, model, estimated.media);
  const image = tokensOfOneImage(sent, model, media);
  const expected = Math.max(declared ?? undeclared, image);
  const perChoice = own ?? Math.min(expected, model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  const most = perChoice * request.choices;
  // The hold of a stream grows with the visible output, unless all output arrives at once.
  const shownAtFirst = own === undefined ? Math.max(model.holdOutput ?? most, image * request.choices) : most;
  const atFirst = shownAtFirst + hiddenThinking(sent, model) * request.choices;
  const shownTokens = request.stream ? Math.min(most, atFirst) : most;
  const outputTokens = shownTokens + predictedOutput(sent);
  const capTokens = cap === 'none' ? undefined : perChoice;
  const isBounded = declared !== undefined || capTokens !== undefined;
  const longest = isBounded && !isOnLeash ? most : (model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  // Models billed only by units do not count against token limits.
  const inputTokens = model.isWithoutTokenPrices ? 0 : readTokens(sent, estimated.tokens, longest);
  const prices = pricesFor(model, sent.serviceTier);
  const hostTools = toolsFor(model, prices, sent.hostTools);
  const route: Route = {
    model,
    hosted: target,
    inputTokens,
    broughtTokens: brought?.tokens ?? 0,
    outputTokens,
    capTokens,
    maximumTokens: isBounded ? most : undefined,
    media,
    upstream: brought?.upstream,
  };
  return {
    inputTokens,
    outputTokens,
    reservedTokens: inputTokens + foundTokens(prices, hostTools) + (isBounded ? outputTokens : 0),
    holdNanos: heldNanos(route),
    alias,
    price: priceText(model, { requestedTier: sent.serviceTier, inputTokens, alias }),
    isOnLeash,
    routes: [route],
  };
}

/** The money to hold for a request on this route. The hold of a plan covers its most expensive route. */
export function heldNanos({ model, hosted, inputTokens, outputTokens, media }: Route): Nanos {
  const { request } = hosted;
  const costs = possiblePrices(model, request.serviceTier).map((prices) => {
    const hostTools = toolsFor(model, prices, request.hostTools);
    return expectedCost(prices, inputTokens, outputTokens, { ...request, ...media, hostTools });
  });
  return costs.reduce((a, b) => (b > a ? b : a));
}

/** The tokens of a prediction, over all choices: rejected prediction tokens are billed as output. */
export function predictedOutput({ predictedTokens, choices }: ModelRequest): number {
  return predictedTokens * choices;
}

export type Targeting =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly problem: string };

/**
 * Builds the request for a model that the dialect can reach, or returns the problem that prevents it. `headers`: the
 * dialect's headers, which reach the host unless the request is translated.
 */
export function targetFor(request: ModelRequest, model: Model, headers: DialectHeaders = {}): Targeting {
  const keeps = model.keepsResponses && model.dialects.includes(request.dialect.name);
  const { state } = request;
  const unkeepable = keeps
    ? state?.keptProblem()
    : (state?.problem ?? (model.sharesKeeper ? state?.foreignProblem() : undefined));
  if (unkeepable !== undefined) return { ok: false, problem: unkeepable };
  const sent = state !== undefined && keeps ? { ...request, state: { ...state, mayKeep: true as const } } : request;
  const hosting = hostRequest(sent, model.dialects, model);
  if (!hosting.ok) return hosting;
  const adapted = hosting.hosted.request.dialect.forModel?.(hosting.hosted.request, model);
  if (adapted?.ok === false) return adapted;
  const hosted = withTierOfHeaders(
    adapted === undefined ? hosting.hosted : { ...hosting.hosted, request: adapted.request },
    model,
  );
  const sentHeaders = hosted.response === undefined ? headers : {};
  const problem =
    problemAt(hosted.request, model, request) ??
    imagesProblem(request, hosted, model) ??
    headerProblem(model, sentHeaders) ??
    betasProblem(hosted.request, model);
  return problem === undefined ? { ok: true, target: { ...hosted, model } } : { ok: false, problem };
}

/**
 * Applies the service tier that the provider's headers set, if the request has none. Converse reads the tier only from its
 * body.
 */
function withTierOfHeaders(hosted: HostRequest, { tierOfHeaders }: Model): HostRequest {
  const { dialect, serviceTier } = hosted.request;
  const hasOwn = serviceTier !== undefined && serviceTier !== 'auto';
  if (tierOfHeaders === undefined || hasOwn || dialect.name === 'converse') return hosted;
  return { ...hosted, request: { ...hosted.request, serviceTier: tierOfHeaders } };
}

/** A field that the provider refuses, or that has no price. `client`: the request before translation. */
function problemAt(request: ModelRequest, model: Model, client: ModelRequest): string | undefined {
  const { dialect, body, serviceTier, hostTools, otherNumbers = [] } = request;
  if (!hasPriceFor(model, serviceTier)) {
    return unpricedTier(model, serviceTier ?? '');
  }
  const prices = pricesFor(model, serviceTier);
  const problem =
    unpricedFor(model, dialect.name) ??
    (isOfText(dialect) ? unpricedAnswers(model, client.asked) : undefined) ??
    toolProblem(prices, toolsFor(model, prices, hostTools)) ??
    otherNumberProblem(prices, otherNumbers);
  if (problem !== undefined) return problem;
  if (model.refuseFields.length === 0) return undefined;
  const refused = new Set(model.refuseFields.map(foldCase));
  const field = body.members.find(({ key }) => refused.has(foldCase(key)));
  return field && `${printableName(field.key)}: requests to this provider may not have this field`;
}

/** Betas in the body have the same effect at hosts as in the header. */
function betasProblem({ body: { fields } }: ModelRequest, model: Model): string | undefined {
  for (const { field, betas } of betasIn(fields)) {
    const problem = betaProblem(model, field, betas);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A host rejects a declared maximum beyond its model's. */
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

/** The admission request of a plan. */
export function admissionRequest(
  requestId: string,
  keyHash: string,
  { request: { stream }, user }: Permitted,
  plan: Plan,
): AdmissionRequest {
  const { reservedTokens, inputTokens, outputTokens, holdNanos, price, routes } = plan;
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
    price,
    stream,
    ...(user !== '' && { user }),
    ...fallbacks,
  };
}
