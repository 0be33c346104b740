/** The life of one request, from its key to its log line. */

import { type Catalog, type Model, usageCost } from '../catalog/catalog.ts';
import { type ClientError, FAILED_AFTER_DISPATCH, NOT_FORWARDED } from '../core/errors.ts';
import type { TokenUsage } from '../core/usage.ts';
import { API_KEY_DISABLED, credentialOf, INVALID_API_KEY } from '../http/authorization.ts';
import { BodyError } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Ledger, LedgerUnavailable } from '../ledger/ledger.ts';
import type { Log } from '../observe/log.ts';
import type { Monitor } from '../observe/monitor.ts';
import { errorForFailure } from '../relay/failures.ts';
import { Meter, type Metered } from '../relay/meter.ts';
import { DONE_BYTES, NO_WORK, type RelayResult, type Termination } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countUsage } from '../tokens/usage.ts';
import { sampleInput } from '../wire/estimate.ts';
import type { ChatRequest } from '../wire/request.ts';
import { type Admitted, liveRequestOf } from './admitted.ts';
import type { Dispatch, Dispatcher } from './dispatch.ts';
import { KnownKeys } from './known-keys.ts';
import { listModels } from './list-models.ts';
import { type Plan, planFor, type Route } from './plan.ts';
import { errorForRefusal } from './refusals.ts';
import { resolveRequest } from './resolve.ts';
import { ExchangeSink, finish, outcomeOf } from './respond.ts';

export interface PipelineParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly board: Monitor;
  readonly dispatcher: Dispatcher;
  /** Whether a request that declares no maximum gets the held one. */
  readonly capOutput: boolean;
  /** What `created` shows for models, in seconds since 1970. */
  readonly modelsCreatedS: number;
  readonly log: Log;
}

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #dispatches = new Set<Dispatch>();
  readonly #knownKeys = new KnownKeys();
  /** Requests that ask for admission, or were admitted and are not settled. */
  #open = 0;
  /** Requests of any kind that are being answered, those whose body is still coming in too. */
  #answering = 0;
  #onIdle: () => void = () => {};
  #stopping = false;
  #onSettled: () => void = () => {};

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Answers a request for a completion. Never throws. */
  async complete(exchange: Exchange): Promise<void> {
    await this.#guarded(exchange, () => this.#complete(exchange));
  }

  /** Answers a request for the list of models, or for one of them. Never throws. */
  async models(exchange: Exchange, id?: string): Promise<void> {
    await this.#guarded(exchange, async () => {
      const refused = await listModels(this.#parts, exchange, id);
      if (refused !== undefined) this.#turnAway(exchange, refused.error, refused.reason);
    });
  }

  /** Answers with an error. Under `/v1` the rate-limit headers are those of the key, if there is one. Never throws. */
  async refuse(exchange: Exchange, error: ClientError): Promise<void> {
    await this.#guarded(exchange, async () => {
      const credential = credentialOf(exchange.request.headers.authorization);
      if (exchange.figures !== undefined && credential.ok) {
        const identity = await this.#parts.ledger.identify(credential.keyHash);
        exchange.figures = identity.figures;
      }
      exchange.sendError(error);
    });
  }

  /** Gives up every request under way: its client gets an error, and what it used is charged. Takes no more. */
  abortAll(): void {
    this.#stopping = true;
    for (const dispatch of this.#dispatches) dispatch.abort();
  }

  /** Requests that are not settled yet. */
  get open(): number {
    return this.#open;
  }

  /** Resolves once no request is open. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled = resolve;
      if (this.#open === 0) resolve();
    });
  }

  /** Resolves once no request is being answered. It must not get another one. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#answering === 0) resolve();
    });
  }

  async #complete(exchange: Exchange): Promise<void> {
    const { catalog, ledger } = this.#parts;
    const credential = credentialOf(exchange.request.headers.authorization);
    if (!credential.ok) return exchange.sendError(credential.error);
    const { keyHash } = credential;
    const keyId = this.#knownKeys.get(keyHash);
    const body = keyId === undefined ? undefined : await exchange.bufferedBody();
    if (keyId !== undefined && body !== undefined && (await this.#completeKnown(exchange, body, keyHash, keyId)))
      return;

    const identity = await ledger.identify(keyHash);
    exchange.figures = identity.figures;
    if (identity.kind === 'unknown') return exchange.sendError(INVALID_API_KEY);
    exchange.keyId = identity.keyId;
    if (identity.kind === 'disabled') return this.#turnAway(exchange, API_KEY_DISABLED);
    this.#knownKeys.add(keyHash, identity.keyId);

    const resolved = resolveRequest(catalog, body ?? (await exchange.readBody()), identity.allowlist);
    exchange.model = resolved.named;
    if (!resolved.ok) return this.#turnAway(exchange, resolved.error);
    const { request, model } = resolved;
    await this.#admit(exchange, keyHash, request, [model, ...catalog.standIns(model, identity.allowlist)]);
  }

  /**
   * A sound request of a key that was sound before goes to admission at once, which decides about the key too. False where
   * there is something to refuse, or to decide by the allowlist: then the ledger has to be asked about the key first.
   */
  async #completeKnown(exchange: Exchange, body: Buffer, keyHash: string, keyId: string): Promise<boolean> {
    const resolved = resolveRequest(this.#parts.catalog, body, null);
    if (!resolved.ok || resolved.model.fallback.length > 0) return false;
    exchange.model = resolved.named;
    exchange.keyId = keyId;
    await this.#admit(exchange, keyHash, resolved.request, [resolved.model]);
    return true;
  }

  /** Admits a request, and sees it through to its end. `models`: the one that was asked for, and its stand-ins. */
  async #admit(exchange: Exchange, keyHash: string, request: ChatRequest, models: readonly Model[]): Promise<void> {
    this.#open++;
    try {
      await this.#admitOpen(exchange, keyHash, request, planFor(request, models, this.#parts.capOutput));
    } finally {
      if (--this.#open === 0) this.#onSettled();
    }
  }

  async #admitOpen(exchange: Exchange, keyHash: string, request: ChatRequest, plan: Plan): Promise<void> {
    const { requestId } = exchange;
    const [asked, ...others] = plan.routes as readonly [Route, ...Route[]];
    const { model } = asked;
    const { reservedTokens, inputTokens, outputTokens, holdNanos } = plan;
    const expected = { reservedTokens, inputTokens, outputTokens, holdNanos };
    const standIns = others.length > 0 && { standIns: others.map((route) => route.model.id) };
    const admission = await this.#parts.ledger.admit({ requestId, keyHash, model: model.id, ...expected, ...standIns });
    exchange.figures = admission.figures;
    if (!admission.admitted) {
      if (plan.alone !== undefined) return this.#admitOpen(exchange, keyHash, request, plan.alone);
      const { refusal } = admission;
      if (refusal.reason === 'unknown_key') {
        this.#knownKeys.delete(keyHash);
        exchange.keyId = undefined;
      }
      const error = errorForRefusal(refusal, model.id, holdNanos);
      return this.#turnAway(exchange, error, error.code === 'rate_limited' ? refusal.reason : error.code);
    }
    const routes = [asked, ...others.filter((route) => admission.standIns?.includes(route.model.id))];
    const admitted: Admitted = { exchange, request, model, routes, meter: new Meter(inputTokens) };
    this.#parts.board.open(liveRequestOf(admitted));
    const relayed = await this.#dispatch(admitted);
    try {
      await this.#settle(admitted, relayed);
      finish(exchange, relayed.termination);
    } catch (error) {
      this.#fail(exchange, error, FAILED_AFTER_DISPATCH);
    } finally {
      this.#parts.board.drop(requestId);
    }
  }

  /** Refuses a request whose key is known: it takes nothing, but the operator can see that it came. */
  #turnAway(exchange: Exchange, error: ClientError, reason: string = error.code): void {
    const { keyId } = exchange;
    if (keyId !== undefined) {
      this.#parts.ledger.countRefusal({ keyId, code: error.code, reason });
      this.#parts.board.refuse({ id: exchange.requestId, keyId, model: exchange.model ?? '', code: error.code });
    }
    exchange.sendError(error);
  }

  /** Sends the request upstream and relays the answer, whatever it is. Never throws: there is a lease to settle. */
  async #dispatch(admitted: Admitted): Promise<RelayResult> {
    const { exchange, request, routes, meter } = admitted;
    if (exchange.gone)
      return { metered: NO_WORK, termination: { kind: 'client_gone' }, note: 'the client left before dispatch' };
    if (this.#stopping)
      return { metered: NO_WORK, termination: { kind: 'error', error: STOPPING }, note: 'stopped before dispatch' };
    const dispatch = this.#parts.dispatcher.dispatch({
      requestId: exchange.requestId,
      request,
      routes,
      meter,
      sink: new ExchangeSink(exchange, () => admitted.dispatch?.model.id),
    });
    admitted.dispatch = dispatch;
    this.#dispatches.add(dispatch);
    exchange.onGone(() => dispatch.leave());
    try {
      return await dispatch.run();
    } catch (error) {
      this.#parts.log.error({ request_id: exchange.requestId, err: error }, 'fault while relaying');
      dispatch.abort();
      const termination: Termination = exchange.streamStarted
        ? { kind: 'stream_end', error: FAILED_AFTER_DISPATCH, end: DONE_BYTES }
        : { kind: 'error', error: FAILED_AFTER_DISPATCH };
      return { metered: dispatch.sent ? meter.figures() : NO_WORK, termination, note: 'fault of the gateway' };
    } finally {
      this.#dispatches.delete(dispatch);
    }
  }

  /** The one settlement. The end of the answer goes out only after it. */
  async #settle({ exchange, request, dispatch, ...admitted }: Admitted, relayed: RelayResult): Promise<void> {
    const { metered, termination } = relayed;
    const { requestId } = exchange;
    const model = dispatch?.model ?? admitted.model;
    exchange.servedModel = dispatch?.model.id;
    const usage = await this.#usageOf(metered, request);
    const outcome = outcomeOf(termination);
    const { source, completionId } = metered;
    const served = dispatch?.served;
    const firstByteMs = dispatch?.firstByteMs;
    const end = { outcome, usage, source, costNanos: usageCost(model, usage), firstByteMs, served };
    exchange.figures = await this.#parts.ledger.settle({ requestId, completionId, ...end });
    this.#parts.board.end(requestId, end);
    this.#logNote(requestId, model, relayed);
  }

  async #usageOf({ usage, written }: Metered, { messages, tools }: ChatRequest): Promise<TokenUsage> {
    return written === undefined
      ? usage
      : countUsage(this.#parts.counter, usage, sampleInput(messages, tools), written);
  }

  #logNote(requestId: string, model: Model, { metered, termination, note }: RelayResult): void {
    const notes = [note, metered.isReportUnusable ? UNUSABLE_REPORT : undefined].filter((text) => text !== undefined);
    if (notes.length === 0) return;
    const fields = { request_id: requestId, model: model.id, outcome: outcomeOf(termination) };
    this.#parts.log.warn(fields, `${requestId} ${model.id}: ${notes.join('; ')}`);
  }

  /** Runs `work`, and answers what it throws: a body that cannot be had, a ledger that cannot write, a fault of ours. */
  async #guarded(exchange: Exchange, work: () => Promise<void>): Promise<void> {
    this.#answering++;
    try {
      await work();
    } catch (error) {
      if (error instanceof BodyError) {
        if (error.error !== undefined) this.#turnAway(exchange, error.error);
        return;
      }
      this.#fail(exchange, error, NOT_FORWARDED);
    } finally {
      if (--this.#answering === 0) this.#onIdle();
    }
  }

  #fail(exchange: Exchange, error: unknown, told: ClientError): void {
    const what = error instanceof LedgerUnavailable ? 'the ledger cannot be written' : 'fault of the gateway';
    this.#parts.log.error({ request_id: exchange.requestId, err: error }, what);
    if (exchange.streamStarted) exchange.endStream(told, DONE_BYTES);
    else exchange.sendError(told);
  }
}

const UNUSABLE_REPORT = 'the provider reported figures that cannot be right, so the gateway counted for itself';

/** What a request gets that is admitted while the process ends. */
const STOPPING = errorForFailure('aborted');
