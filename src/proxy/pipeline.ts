/** The life of one request: authentication, admission, relay, settlement. */

import type { CachedAnswer } from '../core/cached-answers.ts';
import { type ClientError, FAILED_AFTER_DISPATCH, NOT_FORWARDED } from '../core/errors.ts';
import type { KeptResponse } from '../core/kept-responses.ts';
import type { AdmissionVerdict } from '../core/request-trace.ts';
import { Roster } from '../core/roster.ts';
import type { SpentBy } from '../core/spent-by.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { credentialOf, INVALID_API_KEY } from '../http/authorization.ts';
import { BodyError } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { addressOf } from '../http/routes.ts';
import { type Admission, type AtLevel, LedgerUnavailable, type Refusal } from '../ledger/ledger.ts';
import type { RequestEnd, RequestFacts } from '../observe/monitor.ts';
import { SHUTTING_DOWN, STOPPED_HERE } from '../relay/failures.ts';
import { NO_BOUND, NO_WORK, type RelayResult, type StreamSink, type Termination } from '../relay/relay.ts';
import { type Admitted, admittedRequest, liveRequestOf } from './admitted.ts';
import { StreamAllowance } from './allowance.ts';
import { type Caching, cachingOf } from './cache.ts';
import { answerToKeep, endOfCached, type Flight, Flights, NotingSink, replay } from './cached.ts';
import { serveChildKeys } from './child-keys.ts';
import { type CountDialect, countTokens } from './count-tokens.ts';
import type { Dispatch } from './dispatch.ts';
import { InProgress } from './in-progress.ts';
import { bringIn, type KeptSources, keptOf } from './kept.ts';
import { serveKept } from './kept-response.ts';
import { type KnownKey, KnownKeys } from './known-keys.ts';
import { boundByBudget } from './leash.ts';
import { listModels, showModel } from './list-models.ts';
import type { Refused } from './listing.ts';
import { GrowthTimes } from './pace.ts';
import type { PipelineParts } from './parts.ts';
import {
  admissionRequest,
  outputCap,
  type Permitted,
  type Planning,
  type Plans,
  planForCached,
  plansFor,
} from './plan.ts';
import { readBody } from './read-body.ts';
import { causeOf, disabledAt, errorForRefusal, keyDisabled } from './refusals.ts';
import { permit, permittedByAdmission, type Resolution, resolveRequest } from './resolve.ts';
import { ExchangeSink, finish } from './respond.ts';
import { endOf, logNote } from './settlement.ts';
import { showKey } from './show-key.ts';
import { spentByHeaders, spentByOf } from './spent-by.ts';

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #dispatches = new Roster<Dispatch>();
  readonly #knownKeys = new KnownKeys();
  /** Requests that wait for admission, or are admitted and not yet settled. */
  readonly #unsettled = new InProgress();
  /** All requests in progress, including those whose body is still arriving. */
  readonly #answering = new InProgress();
  readonly #growthTimes = new GrowthTimes();
  readonly #flights = new Flights();
  #stopping = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Answers a request to a model. Never throws. */
  complete(exchange: Exchange, dialect: Dialect): Promise<void> {
    return this.#guarded(exchange, () => this.#complete(exchange, dialect));
  }

  /** Answers a request for the model list, or for one model by its id. Never throws. */
  models(exchange: Exchange, id?: string): Promise<void> {
    return this.#free(exchange, async () => {
      const refused = await (id === undefined
        ? listModels(this.#parts, exchange)
        : showModel(this.#parts, exchange, id));
      if (refused !== undefined) logLeftOut(this.#parts, exchange.requestId, refused.error, id);
      return refused;
    });
  }

  /** Answers a key's request for its own limits and usage. Never throws. */
  showKey(exchange: Exchange): Promise<void> {
    return this.#free(exchange, () => showKey(this.#parts, exchange));
  }

  /** Fetches or deletes a response that a host stores for the key. Never throws. */
  keptResponse(exchange: Exchange, id: string): Promise<void> {
    return this.#free(exchange, () => serveKept(this.#parts, exchange, id));
  }

  /** Lists, creates or deletes the child keys of a key. Never throws. */
  childKeys(exchange: Exchange, id?: string): Promise<void> {
    return this.#free(exchange, () => serveChildKeys(this.#parts, exchange, id));
  }

  /** Answers a request to count tokens. Never throws. */
  countTokens(exchange: Exchange, dialect: CountDialect): Promise<void> {
    return this.#free(exchange, () => countTokens(this.#parts, exchange, dialect));
  }

  /** Runs a free request, and sends the refusal that `answer` returns. */
  async #free(exchange: Exchange, answer: () => Promise<Refused | undefined>): Promise<void> {
    await this.#guarded(exchange, async () => {
      const refused = await answer();
      if (refused !== undefined) this.#refuse(exchange, refused.error, refused);
    });
  }

  /**
   * Answers with an error. Under `/v1` the response has the rate-limit headers of the key, if the request has one. Never
   * throws.
   */
  async refuse(exchange: Exchange, error: ClientError): Promise<void> {
    await this.#guarded(exchange, async () => {
      const credential = credentialOf(exchange.request.headers, exchange.request.url);
      if (exchange.showsLimits && credential.ok) {
        const identity = await this.#parts.ledger.identify(credential.keyHash);
        exchange.showLimits(identity.figures);
      }
      exchange.sendError(error);
    });
  }

  /** Aborts every request in flight and dispatches no more. Clients get an error, and used tokens are charged. */
  abortAll(): void {
    this.#stopping = true;
    for (const dispatch of this.#dispatches.members()) dispatch.abort();
  }

  /** The number of unsettled requests. */
  get unsettled(): number {
    return this.#unsettled.count;
  }

  /** Resolves once every request is settled. */
  settled(): Promise<void> {
    return this.#unsettled.none();
  }

  /** Resolves once no request is in progress. The caller must not start new ones before that. */
  idle(): Promise<void> {
    return this.#answering.none();
  }

  /**
   * The life of a request to a model, in order. All paths after admission lead through the one settlement, and the last bytes
   * of the response wait for it.
   */
  async #complete(exchange: Exchange, dialect: Dialect): Promise<void> {
    const { bodies, catalog, ledger } = this.#parts;
    const credential = credentialOf(exchange.request.headers, exchange.request.url);
    if (!credential.ok) return exchange.sendError(credential.error);
    const { keyHash } = credential;

    let key = this.#knownKeys.get(keyHash);
    // Node's parser delivers the body in the same tick, right after the headers.
    if (key !== undefined && !exchange.request.complete) await undefined;
    const early = key && this.#resolveEarly(exchange, dialect, key);
    let permitted = early && permittedByAdmission(early);
    let planning = permitted && this.#plan(permitted, key);
    if (permitted === undefined || !planning?.ok) {
      const identity = await ledger.identify(keyHash);
      exchange.showLimits(identity.figures);
      if (identity.kind === 'unknown') {
        this.#forgetKey(exchange, keyHash);
        return exchange.sendError(INVALID_API_KEY);
      }
      exchange.identifyKey(identity.keyId);
      if (identity.kind === 'disabled') {
        const { level } = identity;
        return this.#refuse(exchange, keyDisabled(level), { level, cause: disabledAt(identity) });
      }
      key = this.#knownKeys.add(keyHash, identity);

      const resolution = early ?? this.#resolve(exchange, dialect, await readBody(exchange, identity, bodies, catalog));
      const permission = permit(resolution, identity.allowlist, catalog);
      if (!permission.ok) {
        logLeftOut(this.#parts, exchange.requestId, permission.error, exchange.model);
        return this.#refuse(exchange, permission.error);
      }
      const bringing = await bringIn(this.#keptSources, identity.keyId, permission.permitted);
      if (!bringing.ok) return this.#refuse(exchange, bringing.error);
      permitted = bringing.permitted;
      planning = this.#plan(permitted, key);
    }
    if (!planning.ok) return this.#refuse(exchange, { code: 'invalid_request', message: planning.problem });

    this.#unsettled.enter();
    try {
      const caching = cachingOf(permitted, planning.plans[0], exchange.request.headers, exchange.keyId);
      // Before the look-up, which may miss an answer that lands during it.
      const ahead = caching?.mayFind ? this.#flights.of(caching.place.id) : undefined;
      const cached = caching?.mayFind && (await this.#parts.cache.find(caching.place, caching.terms.ttlMs));
      const plans: Plans = cached ? [planForCached(planning.plans)] : planning.plans;
      const admitted = await this.#admit(exchange, keyHash, permitted, plans);
      if (admitted === undefined) return;
      admitted.cached = cached || undefined;
      await this.#serve(admitted, caching, ahead);
    } finally {
      this.#unsettled.leave();
    }
  }

  async #serve(admitted: Admitted, caching: Caching | undefined, ahead: Flight | undefined): Promise<void> {
    const { monitor } = this.#parts;
    const live = liveRequestOf(admitted);
    const place = monitor.open(live);
    try {
      if (caching === undefined) await this.#settle(admitted, live, await this.#dispatch(admitted));
      else await this.#serveOnce(admitted, live, caching, ahead);
    } finally {
      monitor.close(place);
    }
  }

  /** Dispatches a request only if no equal request is cached or in flight, and shares its answer with equal requests. */
  async #serveOnce(
    admitted: Admitted,
    live: RequestFacts,
    { place, terms, mayFind }: Caching,
    ahead: Flight | undefined,
  ): Promise<void> {
    const { exchange } = admitted;
    const equal = mayFind ? (this.#flights.of(place.id) ?? ahead) : undefined;
    if (equal !== undefined) admitted.cached ??= await landedUnlessWoken(admitted, equal);
    const { cached } = admitted;
    if (cached !== undefined) {
      exchange.showCached(Math.max(0, Math.floor((Date.now() - cached.storedAtMs) / 1000)));
      await this.#settle(admitted, live, await replay(cached, this.#sinkOf(admitted)));
      return;
    }
    const flight = this.#flights.begin(place.id);
    const sink = new NotingSink(this.#sinkOf(admitted), () => flight?.land());
    try {
      const relayed = await this.#dispatch(admitted, sink);
      const end = await this.#settle(admitted, live, relayed);
      const answer = end && answerToKeep(admitted, relayed, end, sink.noted);
      if (answer === undefined) return;
      flight?.land(answer);
      this.#parts.cache.add(place, answer, terms);
    } finally {
      flight?.land();
    }
  }

  /**
   * Resolves the body early if it is buffered and the key is cached. Admission checks the key anyway, so most requests need
   * one query of the ledger instead of two.
   */
  #resolveEarly(exchange: Exchange, dialect: Dialect, { keyId }: KnownKey): Resolution | undefined {
    const body = exchange.bufferedBody();
    if (body === undefined) return undefined;
    exchange.identifyKey(keyId);
    return this.#resolve(exchange, dialect, body);
  }

  #resolve(exchange: Exchange, dialect: Dialect, body: Buffer): Resolution {
    const { headers } = exchange.request;
    const outside = { address: addressOf(exchange.path), sent: headers };
    const resolution = resolveRequest(this.#parts.catalog, dialect, body, exchange.headers(dialect.headers), outside);
    exchange.nameModel(resolution.modelName);
    return resolution;
  }

  #plan(permitted: Permitted, key: KnownKey | undefined): Planning {
    return plansFor(permitted, outputCap(this.#parts.capOutput, key?.isLeashed === true));
  }

  /**
   * Requests a lease from the ledger, with the fallbacks of the model and then without. Undefined once the request is
   * refused.
   */
  async #admit(exchange: Exchange, hash: string, permitted: Permitted, plans: Plans): Promise<Admitted | undefined> {
    for (const plan of plans) {
      const { requestId, trace } = exchange;
      trace?.askAdmission(plan, permitted.user);
      const admission = await this.#parts.ledger.admit(admissionRequest(requestId, hash, permitted, plan));
      trace?.answerAdmission(verdictOf(admission));
      exchange.showLimits(admission.figures);
      if (admission.admitted) {
        const { request } = permitted;
        const leashed = plan.isOnLeash && { requestId, keyId: exchange.keyId ?? '', request, plan };
        const bounded = leashed ? await boundByBudget(leashed, this.#parts.ledger) : plan;
        return admittedRequest(exchange, permitted, bounded, admission);
      }
      if (plan !== plans.at(-1)) continue;
      const { refusal } = admission;
      if (refusal.reason === 'unknown_key') this.#forgetKey(exchange, hash);
      const error = errorForRefusal(refusal, plan.routes[0].model.id, plan.holdNanos);
      const reason = error.code === 'rate_limited' ? refusal.reason : error.code;
      const spentBy = spentByOf(exchange.request.headers, permitted.user);
      this.#refuse(exchange, error, { reason, cause: causeOf(refusal), spentBy, level: levelOf(refusal) });
    }
    return undefined;
  }

  #forgetKey(exchange: Exchange, keyHash: string): void {
    this.#knownKeys.delete(keyHash);
    exchange.forgetKey();
  }

  /** Refuses a request without charging it. If the key is known, the refusal is recorded for the operator, with its cause. */
  #refuse(
    exchange: Exchange,
    error: ClientError,
    { reason = error.code, cause = reason.replaceAll('_', ' '), spentBy, level }: RefusalFacts = {},
  ): void {
    const { keyId } = exchange;
    if (keyId !== undefined) {
      this.#parts.bodies.countUnpaid(keyId, exchange.bodyBytes);
      this.#parts.ledger.countRefusal({ keyId, code: error.code, reason });
      const { requestId: id, model = '' } = exchange;
      const facts = { code: error.code, reason, cause, level };
      this.#parts.monitor.refuse({
        id,
        keyId,
        model,
        ...facts,
        spentBy: spentBy ?? spentByHeaders(exchange.request.headers),
      });
    }
    exchange.sendError(error);
  }

  get #keptSources(): KeptSources {
    const { keeper, dispatcher } = this.#parts;
    return { keeper, providers: dispatcher.parts.providers };
  }

  #sinkOf(admitted: Admitted): StreamSink {
    const { ledger } = this.#parts;
    const { commit } = ledger;
    return new ExchangeSink(admitted.exchange, {
      serves: () => servedBy(admitted),
      mayBegin: () => ledger.flushed(commit),
    });
  }

  /** Sends the request upstream and relays the answer. Never throws, because the lease must be settled. */
  async #dispatch(admitted: Admitted, sink = this.#sinkOf(admitted)): Promise<RelayResult> {
    const { exchange, request, headers, routes, plan, meter } = admitted;
    const { requestId } = exchange;
    const { ledger, counter } = this.#parts;
    const growthTimes = this.#growthTimes;
    if (exchange.gone)
      return { metered: NO_WORK, termination: { kind: 'client_gone' }, note: 'the client left before dispatch' };
    if (this.#stopping)
      return {
        metered: NO_WORK,
        termination: { kind: 'error', error: SHUTTING_DOWN },
        note: 'stopped before dispatch',
      };
    if (admitted.isStopped)
      return {
        metered: NO_WORK,
        termination: { kind: 'error', error: STOPPED_HERE },
        note: 'stopped before dispatch',
      };
    const dispatch = this.#parts.dispatcher.dispatch({
      requestId,
      request,
      headers,
      trace: exchange.trace,
      routes,
      meter,
      allowance: (route) => {
        const { request: sent } = route.hosted;
        if (!request.stream || sent.outputAt !== undefined) return NO_BOUND;
        const { holdNanos } = plan;
        return new StreamAllowance({ ...route, request: sent, requestId, holdNanos, ledger, counter, growthTimes });
      },
      sink,
    });
    admitted.dispatch = dispatch;
    const place = this.#dispatches.add(dispatch);
    exchange.onGone(() => {
      // The host keeps working on a non-streaming request, so that request keeps its slot.
      if (request.stream && !dispatch.isOver) ledger.freeSlot(requestId);
      dispatch.clientLeft();
    });
    try {
      return await dispatch.run();
    } catch (error) {
      this.#parts.log.error({ request_id: requestId, err: error }, 'internal error while relaying');
      dispatch.abort();
      const termination: Termination = exchange.streamStarted
        ? { kind: 'stream_end', error: FAILED_AFTER_DISPATCH, end: exchange.streamFailure(FAILED_AFTER_DISPATCH) }
        : { kind: 'error', error: FAILED_AFTER_DISPATCH };
      const note = 'internal error';
      if (!dispatch.sent) return { metered: NO_WORK, termination, note };
      const unseen = exchange.streamStarted ? 'rest' : 'answer';
      return { metered: meter.figuresOfPart(), termination, note, unseen };
    } finally {
      this.#dispatches.remove(place);
    }
  }

  /** The one settlement; the last bytes wait for it. Returns the end of the request, if it could be recorded. */
  async #settle(admitted: Admitted, facts: RequestFacts, relayed: RelayResult): Promise<RequestEnd | undefined> {
    const { exchange } = admitted;
    const { counter, paces } = this.#parts;
    const { model, ignored = [] } = servedBy(admitted) ?? {};
    exchange.serveBy(model?.id);
    exchange.showIgnored(ignored);
    try {
      const isCached = admitted.cached !== undefined;
      const ending = isCached ? endOfCached(admitted, relayed) : endOf(admitted, relayed, { counter, paces });
      const end = ending instanceof Promise ? await ending : ending;
      const { requestId } = exchange;
      const { completionId } = relayed.metered;
      const spentBy = spentByOf(exchange.request.headers, admitted.user);
      const kept = keptOf(admitted, relayed.metered, end, Date.now());
      const keeping = kept && this.#keep(kept, requestId);
      const settlement = { ...end, requestId, completionId, spentBy };
      exchange.showLimits(await this.#parts.ledger.settle(settlement));
      // Before the last bytes, so that the client can refer to the response at once.
      if (keeping !== undefined) await keeping;
      this.#parts.monitor.countEnded(facts, settlement);
      exchange.trace?.settle(end);
      logNote(this.#parts.log, admitted, relayed);
      finish(exchange, relayed.termination);
      this.#countSaving(admitted);
      return end;
    } catch (error) {
      this.#fail(exchange, error, FAILED_AFTER_DISPATCH);
      return undefined;
    }
  }

  #countSaving({ cached, exchange: { keyId = '' }, model: { id: model } }: Admitted): void {
    if (cached === undefined) return;
    const { tokens, costNanos } = cached;
    this.#parts.cache.countSaving({ keyId, model, atMs: Date.now(), tokens, costNanos });
    this.#parts.monitor.countCached(model, costNanos);
  }

  /** Records a response that the host stores for the key. Never rejects: an unrecorded response only causes a 404 later. */
  async #keep(kept: KeptResponse, requestId: string): Promise<void> {
    try {
      await this.#parts.keeper.add(kept);
    } catch (error) {
      this.#parts.log.error(
        { request_id: requestId, err: error },
        'what the host keeps of the answer was not recorded',
      );
    }
  }

  /** Runs `work` and answers its exceptions: an unreadable body, an unavailable ledger, or an internal error. */
  async #guarded(exchange: Exchange, work: () => Promise<void>): Promise<void> {
    this.#answering.enter();
    try {
      await work();
    } catch (error) {
      if (!(error instanceof BodyError)) this.#fail(exchange, error, NOT_FORWARDED);
      else if (error.refusal !== undefined) this.#refuse(exchange, error.refusal.error, error.refusal);
    } finally {
      this.#answering.leave();
    }
  }

  #fail(exchange: Exchange, error: unknown, response: ClientError): void {
    if (error instanceof LedgerUnavailable) this.#parts.onUnavailable();
    else this.#parts.log.error({ request_id: exchange.requestId, err: error }, 'internal error');
    if (exchange.streamStarted) exchange.failStream(response);
    else exchange.sendError(response);
  }
}

/** The details of a refusal for the operator. */
interface RefusalFacts {
  /** The cause within its code. */
  readonly reason?: string;
  /** A short description. */
  readonly cause?: string;
  /** Undefined to derive it from the headers. */
  readonly spentBy?: SpentBy | undefined;
  /** Undefined for the key itself. */
  readonly level?: AtLevel['level'] | undefined;
}

function levelOf(refusal: Refusal): AtLevel['level'] {
  return 'level' in refusal ? refusal.level : undefined;
}

function verdictOf(admission: Admission): AdmissionVerdict {
  if (admission.admitted) return { verdict: 'admitted', groups: admission.groups };
  return { verdict: admission.refusal.reason, level: levelOf(admission.refusal) };
}

/** The answer to an equal request in flight. Undefined if the client leaves or the request is stopped first. */
function landedUnlessWoken(admitted: Admitted, flight: Flight): Promise<CachedAnswer | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wake = () => resolve(undefined);
  admitted.wake = wake;
  if (admitted.exchange.gone) wake();
  admitted.exchange.onGone(wake);
  return Promise.race([flight.landed, promise]);
}

/** The serving model, and the parts of the request left out for it. */
function servedBy({ cached, model, dispatch }: Admitted) {
  return cached === undefined ? dispatch : { model, ignored: cached.ignored };
}

/** Logs why a configured model was not found. Clients do not learn about the config. */
function logLeftOut(
  { catalog, log }: Pick<PipelineParts, 'catalog' | 'log'>,
  requestId: string,
  error: ClientError,
  id: string | undefined,
): void {
  if (error.code !== 'model_not_found' || id === undefined) return;
  const inactive = catalog.inactive(id);
  if (inactive === undefined) return;
  log.warn({ request_id: requestId, model: id }, `${requestId} ${id}: left out: ${inactive.variable} is not set`);
}
