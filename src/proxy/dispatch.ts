/** Dispatches a request: tries one upstream after another until one answers or no further attempt is allowed. */
import type { Model } from '../catalog/catalog.ts';
import { causeOf } from '../core/failure.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import type { AttemptTrace, RequestTrace } from '../core/request-trace.ts';
import type { RetryPolicy } from '../core/settings.ts';
import type { Served } from '../core/settlement.ts';
import { NO_FACTS } from '../dialects/answer.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import type { Log } from '../observe/log.ts';
import type { BytesOptions } from '../relay/binary.ts';
import { NO_UPSTREAM_AVAILABLE } from '../relay/failures.ts';
import type { Meter, Metering } from '../relay/meter.ts';
import { type Allowance, NO_WORK, type RelayResult, type StreamSink } from '../relay/relay.ts';
import { type RelayOptions, relayResponse } from '../relay/response.ts';
import { REPORT_MS } from '../relay/stream.ts';
import type { HostRequest } from '../translate/translate.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import type { Among } from '../upstream/choice.ts';
import type { Member, Provider } from '../upstream/provider.ts';
import { fullBudget, onRequest, onRetry } from '../upstream/retry.ts';
import { currentSecrets, type Secrets, withRequestCredentials } from '../wire/secrets.ts';
import { tokensPerImageOf } from './media.ts';
import type { Route } from './plan.ts';
import { explainOperatorFault, isBilled, provesNoWork, rejectionOf, withoutClientRetry } from './rejection.ts';
import { errorOf, outcomeOf } from './respond.ts';

/** Maximum time to drain an answer after its client has left, with `on_disconnect: drain`, in milliseconds. */
const DRAIN_AFTER_DISCONNECT_MS = 60_000;

const NONE: ReadonlySet<Member> = new Set();

export interface DispatcherParts {
  /** The active providers, by name. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly retry: RetryPolicy;
  /** Silence of an upstream after which a stream gets a keep-alive comment, in milliseconds; undefined to disable. */
  readonly keepAliveMs: number | undefined;
  readonly log: Log;
  /** Called at the end of an attempt. `failure` is set if the upstream caused it. */
  onAttempt(upstream: string, failure: AttemptFailure | undefined): void;
}

/** A request to dispatch. */
export interface Dispatchable {
  readonly requestId: string;
  readonly request: ModelRequest;
  /** Client headers to pass on to a host of the same dialect. */
  readonly headers: Readonly<Record<string, string>>;
  readonly trace?: RequestTrace | undefined;
  /** The requested model, then its fallbacks. */
  readonly routes: readonly [Route, ...Route[]];
  readonly meter: Meter;
  readonly sink: StreamSink;
  /** The output bound of a stream on this route. */
  allowance(route: Route): Allowance;
}

/** A model, and the upstream to send its request to. */
interface Target {
  readonly route: Route;
  readonly member: Member;
}

/** Dispatches requests. They share one retry budget. */
export class Dispatcher {
  readonly parts: DispatcherParts;
  readonly #allSecrets: () => Secrets;
  readonly #secrets = new Map<string, { readonly all: Secrets; readonly own: Secrets; readonly secrets: Secrets }>();
  #budget = fullBudget(performance.now());

  constructor(parts: DispatcherParts) {
    this.parts = parts;
    this.#allSecrets = currentSecrets([...parts.providers.values()]);
  }

  dispatch(dispatchable: Dispatchable): Dispatch {
    this.#budget = onRequest(this.#budget, this.parts.retry, performance.now());
    return new Dispatch(dispatchable, this);
  }

  /**
   * Secrets that must never reach a client. Errors are searched for the secrets of all providers, because one upstream may
   * quote another. Whole answers are searched only for their own provider's credentials, so that the cost does not grow with
   * the number of providers.
   */
  secretsOf(provider: string): Secrets {
    const all = this.#allSecrets();
    const { secrets: own } = this.parts.providers.get(provider) as Provider;
    const known = this.#secrets.get(provider);
    if (known?.all === all && known.own === own) return known.secrets;
    const secrets = { ...all, credentials: own.credentials };
    this.#secrets.set(provider, { all, own, secrets });
    return secrets;
  }

  /** Takes one retry from the budget. False if the budget is used up. */
  takeRetry(): boolean {
    const left = onRetry(this.#budget, this.parts.retry);
    if (left === undefined) return false;
    this.#budget = left;
    return true;
  }
}

export class Dispatch {
  readonly #request: Dispatchable;
  readonly #dispatcher: Dispatcher;
  /** Undefined until the first rejection. */
  #tried: Map<Model, Set<Member>> | undefined;
  readonly #startedAtMs = performance.now();
  #target: Target | undefined;
  #attempt: Attempt | undefined;
  #attemptStartedAtMs = 0;
  #attempts = 0;
  #aborted = false;
  #isOver = false;
  #drainTimer: PatientTimer | undefined;

  constructor(request: Dispatchable, dispatcher: Dispatcher) {
    this.#request = request;
    this.#dispatcher = dispatcher;
  }

  /** The route of the current or last attempt. The request is charged by its prices. */
  get route(): Route {
    return this.#target?.route ?? this.#request.routes[0];
  }

  get model(): Model {
    return this.route.model;
  }

  /** The parts of the request that the host's dialect cannot express. */
  get ignored(): readonly string[] {
    return this.route.hosted.ignored;
  }

  /** The serving model and upstream; undefined before the first attempt. */
  get served(): Served | undefined {
    if (this.#target === undefined) return undefined;
    return { model: this.model.id, upstream: this.#target.member.name, attempts: this.#attempts };
  }

  /** Time from dispatch to the first byte of the relayed answer, in whole milliseconds. */
  get firstByteMs(): number | undefined {
    const { firstByteMs } = this.#attempt ?? {};
    if (firstByteMs === undefined) return undefined;
    return firstByteMs + Math.round(this.#attemptStartedAtMs - this.#startedAtMs);
  }

  /** Age of the current or last attempt, in milliseconds. */
  get attemptMs(): number {
    return performance.now() - this.#attemptStartedAtMs;
  }

  /** True once an upstream may have started work. */
  get sent(): boolean {
    return this.#attempt?.sent === true;
  }

  /** True once the result is known. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborts the current attempt and prevents further ones. */
  abort(kind: 'aborted' | 'stopped' = 'aborted'): void {
    this.#aborted = true;
    void this.#attempt?.stop(kind);
  }

  /**
   * Handles a disconnected client: there is no further attempt. A host finishes and bills a non-streaming request anyway, so
   * its answer is read. A stream is stopped unless it is complete or the provider sets `on_disconnect` to drain.
   */
  clientLeft(): void {
    if (this.#isOver) return;
    const { request, meter } = this.#request;
    if (!this.sent) return this.abort();
    this.#aborted = true;
    if (!request.stream) return;
    const drains = this.#target?.member.onDisconnect === 'drain';
    if (meter.complete) this.#abortAfter(REPORT_MS);
    else if (drains) this.#abortAfter(DRAIN_AFTER_DISCONNECT_MS);
    else this.abort();
  }

  #abortAfter(milliseconds: number): void {
    this.#drainTimer = new PatientTimer(() => void this.#attempt?.stop(), milliseconds);
  }

  /** Relays all but the last bytes, which wait for the settlement. */
  async run(): Promise<RelayResult> {
    try {
      let target = this.#find('available') ?? this.#find('last_resort');
      while (target !== undefined) {
        const result = await this.#try(target);
        if (result.kind === 'answered') return this.#forClient(result.relayed);
        this.#logRetry(result.next);
        target = result.next;
      }
      return this.#noneAvailable();
    } finally {
      this.#isOver = true;
      this.#drainTimer?.clear();
    }
  }

  #forClient(relayed: RelayResult): RelayResult {
    const { model, hosted } = this.route;
    const client = this.#request.request.dialect;
    const explained = explainOperatorFault(relayed, model.provider, client, hosted.request.dialect);
    return this.#attempts > 1 || isBilled(relayed) ? withoutClientRetry(explained) : explained;
  }

  async #try(target: Target): Promise<AttemptResult> {
    const { request, meter, sink } = this.#request;
    const { parts } = this.#dispatcher;
    const { route, member } = target;
    this.#target = target;
    this.#attempts++;
    this.#attemptStartedAtMs = performance.now();
    meter.begin(metering(route));
    const { hosted, model } = route;
    const isTranslated = hosted.response !== undefined;
    const headers = isTranslated ? {} : this.#request.headers;
    const trace = traceAttempt(this.#request.trace, hosted.request, member.name, model.upstream);
    let failure: AttemptFailure | undefined;
    let relayed: RelayResult | undefined;
    try {
      const attempt = member.attempt({
        request: hosted.request,
        model: model.upstream,
        capTokens: route.capTokens,
        isTranslated,
        headers: trace === undefined ? headers : { ...headers, ...trace.headers },
      });
      this.#attempt = attempt;
      const opening = await attempt.opened;
      if (!(opening instanceof UpstreamFailure)) trace?.receiveHead(opening.status);
      const rejection = rejectionOf(attempt, opening);
      failure = rejection?.failure;
      if (rejection !== undefined) this.#markTried(target, rejection.isForFallback);
      if (rejection?.isOfUpstream) for (const { model } of this.#request.routes) this.#triedFor(model).add(member);
      const next = rejection && this.#takeNext();
      const isFree = next === undefined || !attempt.sent || (await provesNoWork(attempt, hosted.request.dialect));
      if (next !== undefined && isFree && !this.#aborted) return { kind: 'rejected', next };
      relayed = await relayResponse(attempt, opening, sink, meter, {
        ...responseOptions(route, this.#request.requestId),
        bytes: bytesOptions(hosted, model),
        stream: request.stream,
        showUsage: request.includeUsage || isTranslated,
        choices: request.choices,
        allowance: this.#request.allowance(route),
        secrets: withRequestCredentials(this.#dispatcher.secretsOf(route.model.provider), attempt.credentials),
        keepAliveMs: parts.keepAliveMs,
      });
      failure = attempt.isInconclusive ? undefined : attemptFailureOf(relayed);
      return { kind: 'answered', relayed };
    } finally {
      member.release();
      traceEnd(trace, this.#attempt, relayed, failure);
      parts.onAttempt(member.name, failure);
    }
  }

  /** The next target after a rejection; takes one retry from the budget. Undefined if no further attempt is allowed. */
  #takeNext(): Target | undefined {
    const { retry } = this.#dispatcher.parts;
    if (this.#aborted || this.#attempts >= retry.attempts) return undefined;
    const next = this.#find('available');
    return next !== undefined && this.#dispatcher.takeRetry() ? next : undefined;
  }

  #logRetry(next: Target): void {
    const { requestId } = this.#request;
    const [from, to] = [this.#target, next].map((target) => `${target?.member.name} for ${target?.route.model.id}`);
    const fields = { request_id: requestId, from, to };
    this.#dispatcher.parts.log.info(fields, `${requestId}: rejected by ${from}; retrying at ${to}`);
  }

  #find(among: Among): Target | undefined {
    for (const route of this.#request.routes) {
      const { model } = route;
      const tried = this.#tried?.get(model) ?? this.#elsewhere(model);
      const member = this.#providerOf(route).pick(model.upstream, tried, among);
      if (member !== undefined) return { route, member };
    }
    return undefined;
  }

  #noneAvailable(): RelayResult {
    const waits = this.#request.routes.map((route) => this.#providerOf(route).waitMs(route.model.upstream));
    const retryAfterS = Math.max(1, Math.ceil(Math.min(...waits) / 1000));
    return {
      metered: NO_WORK,
      termination: { kind: 'error', error: { ...NO_UPSTREAM_AVAILABLE, retryAfterS } },
      note: 'no upstream is available: circuits are open, or upstreams asked to back off',
    };
  }

  #providerOf({ model }: Route): Provider {
    return this.#dispatcher.parts.providers.get(model.provider) as Provider;
  }

  /** The upstreams that a request cannot use because it refers to content stored at one of the others. */
  #elsewhere(model: Model): ReadonlySet<Member> {
    const route = this.#request.routes.find((each) => each.model === model);
    const { upstream } = route ?? {};
    if (route === undefined || upstream === undefined) return NONE;
    return new Set(this.#providerOf(route).members.filter(({ name }) => name !== upstream));
  }

  #markTried({ route, member }: Target, isProvider: boolean): void {
    const tried = this.#triedFor(route.model);
    for (const each of isProvider ? this.#providerOf(route).members : [member]) tried.add(each);
  }

  #triedFor(model: Model): Set<Member> {
    this.#tried ??= new Map();
    const tried = this.#tried.get(model) ?? new Set(this.#elsewhere(model));
    this.#tried.set(model, tried);
    return tried;
  }
}

/** How the answer of a route is counted if its host reports no usage. */
function metering({ model, inputTokens, hosted: { request } }: Route): Metering {
  const { audioBytesPerToken: bytesPerAudioToken } = request;
  return { inputTokens, bytesPerAudioToken, tokensPerImage: tokensPerImageOf(model, request) };
}

/** How the response to a request is read, and translated for its client. */
function responseOptions(
  { hosted: { request, response }, media }: Route,
  requestId: string,
): Pick<RelayOptions, 'dialect' | 'reader' | 'translator' | 'translateAnswer' | 'mismatch' | 'hasImages' | 'render'> {
  const { dialect, stream, render } = request;
  const own = { dialect, reader: dialect.startStream(requestId, request), hasImages: media.draws };
  if (response === undefined) return { ...own, render, translator: undefined, translateAnswer: undefined };
  const context = { requestId, nowS: Math.floor(Date.now() / 1000) };
  return {
    ...own,
    translator: stream ? response.stream(context) : undefined,
    translateAnswer: (answer) => response.answer(answer, context),
    mismatch: response.mismatch,
  };
}

/** How a non-JSON answer is relayed. It may be passed on unparsed only if the model has no token prices. */
function bytesOptions({ request }: HostRequest, { isWithoutTokenPrices }: Model): BytesOptions | undefined {
  const { dialect } = request;
  if (dialect.readBytes === undefined) return undefined;
  return {
    read: (answer) => dialect.readBytes?.(answer, request) ?? NO_FACTS,
    isPassedOn: dialect.passesBytesOn === true && isWithoutTokenPrices === true,
  };
}

/** The result of an attempt. */
type AttemptResult =
  | { readonly kind: 'answered'; readonly relayed: RelayResult }
  /** The upstream rejected the request, and another one is tried next. */
  | { readonly kind: 'rejected'; readonly next: Target };

/** The failure to count against the upstream; undefined if the attempt succeeded. */
function attemptFailureOf({ termination, note }: RelayResult): AttemptFailure | undefined {
  if (outcomeOf(termination) !== 'upstream_error') return undefined;
  const { failure } = errorOf(termination) ?? {};
  return { cause: failure === undefined ? 'broken' : causeOf(failure), message: note ?? '' };
}

/** Traces the start of an attempt; undefined if the request is not traced. `model`: the upstream's name of the model. */
function traceAttempt(
  trace: RequestTrace | undefined,
  { dialect, stream, choices, maxOutput }: ModelRequest,
  upstream: string,
  model: string,
): AttemptTrace | undefined {
  return trace?.attempt({ upstream, model, dialect: dialect.name, stream, choices, maxOutput });
}

/** `relayed` is undefined if another attempt follows. */
function traceEnd(
  trace: AttemptTrace | undefined,
  attempt: Attempt | undefined,
  relayed: RelayResult | undefined,
  failure: AttemptFailure | undefined,
): void {
  trace?.end({
    cause: failure?.cause,
    outcome: relayed && outcomeOf(relayed.termination),
    firstByteMs: attempt?.firstByteMs,
    completionId: relayed?.metered.completionId,
    model: relayed?.metered.model,
  });
}
