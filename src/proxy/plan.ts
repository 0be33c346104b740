/** What a request is expected to use, before it is admitted: the tokens to reserve and the money to hold. */
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

/** The headers of a client that reach a host of its dialect, by their names in lower case. */
export type DialectHeaders = Readonly<Record<string, string>>;

/** A model that a request can go to, and the request for its host. */
export interface Target extends HostRequest {
  readonly model: Model;
}

/** A request that its key may send: to the model it means, or to the fallbacks that the key may use and that can take it. */
export interface Permitted {
  readonly request: ModelRequest;
  readonly headers: DialectHeaders;
  /** The end user it is for; empty if it names none. */
  readonly user: string;
  /** The name that it gives the model, if that is not its id. */
  readonly alias: string | undefined;
  readonly targets: readonly [Target, ...Target[]];
  /** What it refers to at its host. */
  readonly brought?: Brought;
}

/** What a request brings in by naming it, and where that is. */
export interface Brought {
  readonly tokens: number;
  readonly upstream: string;
}

/** A model that a request may go to, and its use there: models count input differently, and write different amounts. */
export interface Route {
  readonly model: Model;
  readonly hosted: HostRequest;
  /** The estimated input at this model, as far as it is billed by tokens. */
  readonly inputTokens: number;
  /** Of the input: content that the request refers to at its host, and does not contain. */
  readonly broughtTokens: number;
  /** The output that is held for, over all choices. */
  readonly outputTokens: number;
  /** The maximum of output tokens to write where the request lacks the one that its host reads; undefined for no cap. */
  readonly capTokens: number | undefined;
  /** The most output that its host may write, over all choices; undefined if it is told no maximum. */
  readonly maximumTokens: number | undefined;
  /** What its host may bill besides text. */
  readonly media: Media;
  /** The upstream that it has to go to, by its name; undefined for any of the provider. */
  readonly upstream: string | undefined;
}

/** Bounds the output of a request that declares no maximum: `hold` by the output that is held for it, `budget` by the money that its key has left. */
export type OutputCap = 'none' | 'hold' | 'budget';

/** The amounts to ask admission for, which cover every route, and the routes. */
export interface Plan {
  /** The input, output and price of the route with the highest hold, for the journal. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly price: string;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  /** The name that the request gives the model, if that is not its id. */
  readonly alias: string | undefined;
  /** Whether the budget of its key bounds its output: it is on a leash and declares no maximum. */
  readonly isOnLeash: boolean;
  /** The model that was asked for, then its fallbacks. */
  readonly routes: readonly [Route, ...Route[]];
}

export function outputCap(capOutput: boolean, isLeashed: boolean): OutputCap {
  if (isLeashed) return 'budget';
  return capOutput ? 'hold' : 'none';
}

/** The plan of a request that is answered without a host: it holds nothing. */
export function planForNothing([{ routes, ...plan }]: Plans): Plan {
  const nothing = { inputTokens: 0, outputTokens: 0, reservedTokens: 0, holdNanos: 0n, isOnLeash: false };
  return { ...plan, ...nothing, routes: [routes[0]] };
}

export type Plans = readonly [Plan, ...Plan[]];

/** `problem`: what keeps the model that was asked for from taking this input. */
export type Planning = { readonly ok: true; readonly plans: Plans } | { readonly ok: false; readonly problem: string };

/**
 * The plans to ask admission for, in order: for all targets together (the maximum over them, since any of them may
 * serve), then for the first alone, so that its fallbacks never keep it from being served. A declared maximum counts up
 * to the `max_output` of the first model; only fallbacks that can give it and take the input take part.
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

/** What a request holds: its tokens at the model that makes most of it, and whether that is audio or images. */
interface EstimatedInput {
  readonly tokens: number;
  readonly media: Pick<Media, 'hears' | 'sees'>;
}

/** The input tokens at a model, also as its host gets them: a translation may make more. Or what it cannot take. */
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

/** No translation passes on a tool of the client's own host: it refuses it or leaves it out, with what it names. */
function withoutToolReferences({ attachments, ...others }: InputParts): InputParts {
  return { ...others, attachments: attachments.filter((each) => each.kind !== 'reference' || each.ofTool !== true) };
}

function tokensOr(request: ModelRequest, parts: InputParts, model: Model): number | string {
  const { body, hostTools } = request;
  const unpriced = unpricedImages(request, parts.attachments, model);
  if (unpriced !== undefined) return unpriced;
  // Requests that may be billed by the second have had their prices checked.
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
  // A translation may have written a maximum that the host needs. On a leash, another one replaces it once the request is admitted.
  const declared = own ?? (isOnLeash ? undefined : sent.maxOutput);
  const undeclared = isOnLeash ? (model.holdOutput ?? model.defaultOutput) : model.defaultOutput;
  const media = mediaAt(sent, model, estimated.media);
  const image = tokensOfOneImage(sent, model, media);
  const expected = Math.max(declared ?? undeclared, image);
  const perChoice = own ?? Math.min(expected, model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  const most = perChoice * request.choices;
  // The hold of a stream grows with what it shows, unless that is all there at once.
  const shownAtFirst = own === undefined ? Math.max(model.holdOutput ?? most, image * request.choices) : most;
  const atFirst = shownAtFirst + hiddenThinking(sent, model) * request.choices;
  const shownTokens = request.stream ? Math.min(most, atFirst) : most;
  const outputTokens = shownTokens + predictedOutput(sent);
  const capTokens = cap === 'none' ? undefined : perChoice;
  const isBounded = declared !== undefined || capTokens !== undefined;
  const longest = isBounded && !isOnLeash ? most : (model.maxOutput ?? Number.MAX_SAFE_INTEGER);
  // What is billed by units alone takes no tokens of any limit.
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

/** What is held for a request that this route serves. The hold of a plan covers the dearest of its routes. */
export function heldNanos({ model, hosted, inputTokens, outputTokens, media }: Route): Nanos {
  const { request } = hosted;
  const costs = possiblePrices(model, request.serviceTier).map((prices) => {
    const hostTools = toolsFor(model, prices, request.hostTools);
    return expectedCost(prices, inputTokens, outputTokens, { ...request, ...media, hostTools });
  });
  return costs.reduce((a, b) => (b > a ? b : a));
}

/** The tokens of a prediction, over all choices: those that the model rejects are billed as output. */
export function predictedOutput({ predictedTokens, choices }: ModelRequest): number {
  return predictedTokens * choices;
}

export type Targeting =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly problem: string };

/**
 * What a valid request becomes for a model, which it must be able to reach, or what keeps it from being sent there.
 * `headers`: those of its dialect, which reach the host unless the request is translated.
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

/** A request without a service tier has the one that the headers of its provider set. Converse reads the tier in its body alone. */
function withTierOfHeaders(hosted: HostRequest, { tierOfHeaders }: Model): HostRequest {
  const { dialect, serviceTier } = hosted.request;
  const hasOwn = serviceTier !== undefined && serviceTier !== 'auto';
  if (tierOfHeaders === undefined || hasOwn || dialect.name === 'converse') return hosted;
  return { ...hosted, request: { ...hosted.request, serviceTier: tierOfHeaders } };
}

/** A field that the provider refuses, or that has no price. `client`: the request before its translation. */
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

/** Betas in the body, which hosts read as they read the header. */
function betasProblem({ body: { fields } }: ModelRequest, model: Model): string | undefined {
  for (const { field, betas } of betasIn(fields)) {
    const problem = betaProblem(model, field, betas);
    if (problem !== undefined) return problem;
  }
  return undefined;
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
