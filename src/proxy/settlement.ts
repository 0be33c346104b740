/** Computes the settlement of a relayed request: outcome, usage and cost. */
import type { Model } from '../catalog/catalog.ts';
import { pricesFor, usageCost } from '../catalog/cost.ts';
import { priceText } from '../catalog/price-text.ts';
import { foundByCalls, toolsFor, withLeast } from '../catalog/tool-cost.ts';
import type { Failure } from '../core/failure.ts';
import { billedCalls, rereadsFor, type ToolCall, type ToolCalls, type ToolUse } from '../core/host-tools.ts';
import type { Prices } from '../core/model-terms.ts';
import { isUnit } from '../core/units.ts';
import { NO_PARTS, NO_USAGE, type TokenUsage } from '../core/usage.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { sampleInput } from '../dialects/input.ts';
import type { Log } from '../observe/log.ts';
import type { RequestEnd } from '../observe/monitor.ts';
import { larger, type Metered, withInputOf } from '../relay/meter.ts';
import type { RelayResult, Termination } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countUsage } from '../tokens/usage.ts';
import type { TextSample } from '../wire/text-sample.ts';
import type { Admitted } from './admitted.ts';
import { isOfText, tokensOfOneImage, unpricedNote } from './media.ts';
import type { ModelPaces } from './pace.ts';
import { heldNanos, type Plan, predictedOutput, type Route } from './plan.ts';
import { errorOf, outcomeOf } from './respond.ts';
import { thoughtAtMost } from './thinking.ts';
import { callsMade } from './tool-calls.ts';
import { asHeld, withLifetimes } from './unreported.ts';

/** The dependencies to estimate unreported usage. */
interface Means {
  readonly counter: TokenCounter;
  readonly paces: ModelPaces;
}

type Ended = RequestEnd & { readonly price: string };
type Used = Pick<Metered, 'usage' | 'source'>;

/** Returns the end of a request. Counting unreported tokens takes a promise; reported output updates the pace of the model. */
export function endOf(admitted: Admitted, relayed: RelayResult, means: Means): Ended | Promise<Ended> {
  const work = workOf(admitted, relayed);
  const end = (used: Used) => endAs(used, work, admitted, relayed, means.paces);
  const { written } = relayed.metered;
  if (written === undefined) {
    const { usage, source } = relayed.metered;
    return end({ usage: withLifetimes(usage, work.sent), source });
  }
  if (isChargedAsHeld(relayed, work.route)) return endAsHeld(admitted, relayed, work);
  return countedUsage(relayed, written, work, means).then(end);
}

/** Whether a request is charged as held: the end of its answer was not seen, and the visible output is within the hold. */
function isChargedAsHeld({ unseen, metered }: RelayResult, { outputTokens, maximumTokens }: Route): boolean {
  const written = Math.min(metered.usage.completionTokens, maximumTokens ?? Number.POSITIVE_INFINITY);
  return unseen === 'answer' && written <= outputTokens;
}

function endAsHeld({ dispatch, plan }: Admitted, { termination }: RelayResult, { model, route, tiers }: Work): Ended {
  const { served, firstByteMs } = dispatch ?? {};
  const { inputTokens, outputTokens } = route;
  return {
    outcome: outcomeOf(termination),
    usage: { promptTokens: inputTokens, cachedTokens: 0, completionTokens: outputTokens },
    source: 'held',
    costNanos: heldNanos(route),
    price: priceText(model, { ...tiers, inputTokens, alias: plan.alias }),
    firstByteMs,
    served,
    failure: errorOf(termination)?.failure,
  };
}

/** The route that served a request, and the prices and calls to charge. */
interface Work {
  readonly model: Model;
  readonly route: Route;
  readonly sent: ModelRequest;
  readonly tiers: { readonly requestedTier: string | undefined; readonly servedTier: string | undefined };
  readonly prices: Prices;
  /** The tokens of an unfinished image cannot be counted, so they are charged as held. */
  readonly isCutShort: boolean;
  /** The calls of the host's tools: `made` contains all, `calls` the billed ones. */
  readonly made: readonly ToolCalls[];
  readonly calls: readonly ToolCalls[];
}

function workOf({ routes, dispatch }: Admitted, { metered }: RelayResult): Work {
  const route = dispatch?.route ?? routes[0];
  const { model } = route;
  const sent = route.hosted.request;
  const tiers = { requestedTier: sent.serviceTier, servedTier: metered.serviceTier };
  const prices = pricesFor(model, tiers.requestedTier, tiers.servedTier);
  const isCutShort = !isOfText(sent.dialect) && route.media.draws && metered.written !== undefined;
  const seen = isCutShort ? [] : metered.calls;
  const tools = toolsFor(model, prices, sent.hostTools);
  const callsOf = (own: readonly ToolCall[]) => callsMade(tools, own, metered.usage);
  const hasWorked = isAnswered(metered, sent);
  const made = hasWorked ? callsOf(seen) : [];
  const calls = hasWorked ? withLeast(prices, tools, callsOf(billedCalls(seen))) : [];
  return { model, route, sent, tiers, prices, isCutShort, made, calls };
}

function endAs(
  used: Used,
  { model, route, sent, tiers, prices, isCutShort, calls }: Work,
  { dispatch, plan }: Admitted,
  { termination }: RelayResult,
  paces: ModelPaces,
): Ended {
  const source = isCutShort ? 'counted' : used.source;
  const known = source === 'reported' ? withTokens(used.usage, route) : withinHold(used.usage, route);
  const counted = isCutShort ? asHeldTokens(known, route) : known;
  // Some hosts also report tokens for models billed by units.
  const tokens = model.isWithoutTokenPrices ? NO_USAGE : counted;
  const usage = isOfText(sent.dialect) ? tokens : withoutUnpriced(tokens, prices);
  if (source === 'reported' && dispatch !== undefined) {
    paces.add(model.id, usage.completionTokens / sent.choices, dispatch.attemptMs);
  }
  const { served, firstByteMs } = dispatch ?? {};
  const { promptTokens: inputTokens, parts } = usage;
  return {
    outcome: outcomeOf(termination),
    usage,
    source,
    costNanos: usageCost(prices, usage, calls),
    price: priceText(model, { ...tiers, inputTokens, parts, calls, alias: plan.alias }),
    firstByteMs,
    served,
    failure: errorOf(termination)?.failure ?? cutByLeash(route, usage, plan, termination),
  };
}

/** The failure of an answer that used the whole maximum set by its leash. */
function cutByLeash(
  { capTokens, maximumTokens }: Route,
  { completionTokens }: TokenUsage,
  { isOnLeash }: Plan,
  termination: Termination,
): Failure | undefined {
  const isCut = isOnLeash && maximumTokens !== undefined && completionTokens >= maximumTokens;
  if (!isCut || outcomeOf(termination) !== 'ok') return undefined;
  const message = `the answer was cut at ${capTokens} output tokens, the most that its leash paid for`;
  return { reason: 'leash_maximum', status: undefined, message };
}

/** Charges tokens as held if the host reports units alone. */
function withTokens(usage: TokenUsage, route: Route): TokenUsage {
  const isReported = usage.promptTokens + usage.completionTokens > 0;
  if (isReported || usage.parts === undefined || !route.hosted.request.hostTools.some(isUnit)) return usage;
  return asHeldTokens(usage, route);
}

/** The hold of speech covers all of it, but a count at the maximum density of audio may be higher. */
function withinHold(usage: TokenUsage, { hosted, outputTokens }: Route): TokenUsage {
  const { parts = NO_PARTS } = usage;
  if (hosted.request.outputAt === undefined || parts.audioOutputTokens <= outputTokens) return usage;
  return { ...usage, completionTokens: outputTokens, parts: { ...parts, audioOutputTokens: outputTokens } };
}

/**
 * Treats audio and images without a separate price as ordinary tokens where hosts bill by units: the unit price covers
 * the rest.
 */
function withoutUnpriced(usage: TokenUsage, { audioInput, audioOutput, imageOutput }: Prices): TokenUsage {
  if (usage.parts === undefined) return usage;
  const parts = {
    ...usage.parts,
    ...(audioInput === undefined && { audioInputTokens: 0, cachedAudioTokens: 0 }),
    ...(audioOutput === undefined && { audioOutputTokens: 0 }),
    ...(imageOutput === undefined && { imageOutputTokens: 0 }),
  };
  return { ...usage, parts };
}

/** Charges all tokens held on the route. They count as images or audio, which cost more than text. */
function asHeldTokens(usage: TokenUsage, { media, inputTokens, outputTokens }: Route): TokenUsage {
  const { hears, sees, draws } = media;
  const parts = {
    ...NO_PARTS,
    ...(hears ? { audioInputTokens: inputTokens } : { imageInputTokens: sees ? inputTokens : 0 }),
    imageOutputTokens: draws ? outputTokens : 0,
  };
  return {
    ...usage,
    promptTokens: inputTokens,
    cachedTokens: 0,
    completionTokens: outputTokens,
    ...((hears || sees || draws) && { parts }),
  };
}

/** False if the host did no work, or only read the input of a request for output. */
function isAnswered({ source, usage, written }: Metered, { hostTools }: ModelRequest): boolean {
  return source !== 'counted' || usage.completionTokens > 0 || (written !== undefined && hostTools.some(isUnit));
}

/** The effect of the host's tool calls on the input. */
interface ToolWork {
  /** The number of times that the host reads the input again. */
  readonly rereads: number;
  /** The tokens that the calls may have added to the input, which the gateway cannot count. */
  readonly foundTokens: number;
}

function toolWorkOf({ prices, made }: Work): ToolWork {
  const called = Map.groupBy(
    made.filter(({ of }) => !of.some(isUnit)),
    ({ of: [use] }) => use as ToolUse,
  );
  const rereads = Array.from(called, ([use, calls]) =>
    rereadsFor(
      use,
      calls.reduce((sum, { count }) => sum + count, 0),
    ),
  );
  return { rereads: rereads.reduce((sum, each) => sum + each, 0), foundTokens: foundByCalls(prices, made) };
}

/** Upper bounds of the output that a stream did not show. */
interface Unseen {
  /** Hidden reasoning, bounded by elapsed time or by the hold. */
  readonly thoughtTokens: number;
  /** Images that may have been in progress when the answer was cut. */
  readonly imageTokens: number;
  /** Whether the bound of the reasoning is the hold. */
  readonly isHeld: boolean;
  readonly maximumTokens: number;
}

function unseenIn({ model, route, sent }: Work, relayed: RelayResult, paces: ModelPaces): Unseen {
  const { metered, termination, unseen } = relayed;
  const isOutOfMoney = errorOf(termination)?.failure?.reason === 'out_of_money';
  const isCut = termination.kind === 'client_gone' || isOutOfMoney || unseen !== undefined;
  const silentTokens = isCut ? paces.mostTokensIn(model.id, metered.silentMs) : 0;
  const inTime = thoughtAtMost(sent, model, silentTokens);
  const allowed = unseen !== undefined ? thoughtAtMost(sent, model, Number.POSITIVE_INFINITY) : 0;
  const held = Math.min(allowed, route.outputTokens - predictedOutput(sent));
  return {
    thoughtTokens: Math.max(inTime, held),
    imageTokens: metered.isWhole ? 0 : tokensOfOneImage(sent, model, route.media) * sent.choices,
    isHeld: held > inTime,
    maximumTokens: route.maximumTokens ?? Number.POSITIVE_INFINITY,
  };
}

async function countedUsage(
  relayed: RelayResult,
  written: TextSample,
  work: Work,
  { counter, paces }: Means,
): Promise<Used> {
  const { usage, earlyReport, isInputReported } = relayed.metered;
  const { sent: request, model, prices, route } = work;
  const unseen = unseenIn(work, relayed, paces);
  const sample = sampleInput(request, model);
  const input = { ...sample, extraTokens: sample.extraTokens + route.broughtTokens };
  const shown = withUnseen(await countUsage(counter, usage, input, written), request, written.unseenTokens, unseen);
  const counted = withPrediction(withToolWork(shown, toolWorkOf(work), request), request);
  const held = { prices, media: route.media, attachmentTokens: input.extraTokens };
  const used =
    earlyReport === undefined
      ? larger(undefined, asHeld(counted, request, held))
      : larger(earlyReport, isInputReported ? withInputOf(earlyReport, counted) : counted);
  return unseen.isHeld && used.source === 'counted' ? { ...used, source: 'held' } : used;
}

/**
 * Adds hidden reasoning and unfinished images. A host does not exceed the maximum of its request, regardless of the length of
 * its encrypted output, except for a summary of the conversation.
 */
function withUnseen(
  usage: TokenUsage,
  { summarizesAbove }: ModelRequest,
  encryptedTokens: number,
  { thoughtTokens, imageTokens, maximumTokens }: Unseen,
): TokenUsage {
  const shown = usage.completionTokens - encryptedTokens;
  const most = usage.completionTokens + thoughtTokens + imageTokens;
  const maximum = summarizesAbove === undefined ? maximumTokens : Number.POSITIVE_INFINITY;
  const completionTokens = Math.max(shown, Math.min(most, maximum));
  if (imageTokens === 0) return { ...usage, completionTokens };
  const { parts = NO_PARTS } = usage;
  const imageOutputTokens = parts.imageOutputTokens + Math.min(imageTokens, completionTokens - shown);
  return { ...usage, completionTokens, parts: { ...parts, imageOutputTokens } };
}

/** Adds input that tool calls caused, as it was held: repeated reads are cached if the host may have a cache. */
function withToolWork(usage: TokenUsage, { rereads, foundTokens }: ToolWork, { cacheWrite }: ModelRequest): TokenUsage {
  const readAgain = rereads * usage.promptTokens;
  const promptTokens = usage.promptTokens + readAgain + foundTokens;
  return { ...usage, promptTokens, cachedTokens: cacheWrite === undefined ? 0 : readAgain };
}

/** Adds the whole prediction, as it was held: the rejected part is billed as output, but not reported here. */
function withPrediction(usage: TokenUsage, request: ModelRequest): TokenUsage {
  return { ...usage, completionTokens: usage.completionTokens + predictedOutput(request) };
}

const UNUSABLE_REPORT = 'the provider reported impossible usage figures, so the gateway counted the tokens itself';

/** Logs a warning for the operator if a request ended with notes. */
export function logNote(log: Log, { exchange, dispatch, routes }: Admitted, relayed: RelayResult): void {
  const { metered, termination, note } = relayed;
  const route = dispatch?.route ?? routes[0];
  const unusable = metered.isReportUnusable ? UNUSABLE_REPORT : undefined;
  const notes = [note, unusable, unpricedNote(route, metered)].filter((text) => text !== undefined);
  if (notes.length === 0) return;
  const { requestId } = exchange;
  const model = route.model.id;
  const fields = { request_id: requestId, model, outcome: outcomeOf(termination) };
  log.warn(fields, `${requestId} ${model}: ${notes.join('; ')}`);
}
