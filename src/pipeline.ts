/** The life of one request, from its key to its log line. */
import { type Catalog, type Model, usageCost } from './catalog/catalog.ts';
import { type ClientError, FAILED_AFTER_DISPATCH, NOT_FORWARDED } from './core/errors.ts';
import type { TokenUsage } from './core/usage.ts';
import type { Dispatch, Dispatcher } from './dispatch.ts';
import { finish, outcomeOf, sinkOf } from './ending.ts';
import { API_KEY_DISABLED, credentialOf, INVALID_API_KEY } from './http/authorization.ts';
import { BodyFault } from './http/body.ts';
import type { Exchange } from './http/exchange.ts';
import { errorForRefusal, modelNotAllowed, modelNotFound, shownName } from './http/refusals.ts';
import { type Ledger, LedgerUnavailable } from './ledger/ledger.ts';
import { listModels } from './listing.ts';
import type { Board, LiveRequest } from './live/board.ts';
import type { Log } from './observe/log.ts';
import { type Plan, planFor, type Route } from './plan.ts';
import { errorForFailure } from './relay/failures.ts';
import { Meter, type Metered } from './relay/meter.ts';
import { type Last, NO_WORK, OWN_END, type Relayed } from './relay/relay.ts';
import type { TokenCounter } from './tokens/counter.ts';
import { countUsage } from './tokens/usage.ts';
import { readJsonBody } from './wire/body.ts';
import { sampleInput } from './wire/estimate.ts';
import { type ChatRequest, checkRequest, modelOf } from './wire/request.ts';

export interface PipelineParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly board: Board;
  readonly dispatcher: Dispatcher;
  /** Whether a request that declares no maximum gets the held one. */
  readonly capOutput: boolean;
  /** What `created` shows for models, in seconds since 1970. */
  readonly modelsCreatedS: number;
  readonly log: Log;
}

/** A request that was admitted. */
interface Admitted {
  readonly exchange: Exchange;
  readonly request: ChatRequest;
  readonly model: Model;
  readonly plan: Plan;
  readonly meter: Meter;
  /** Undefined until it is sent upstream. */
  dispatch?: Dispatch;
}

/** A request that is sound, and whose model exists and is allowed. */
type Resolved =
  | { readonly ok: true; readonly request: ChatRequest; readonly model: Model }
  | { readonly ok: false; readonly error: ClientError };

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #dispatches = new Set<Dispatch>();
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
    const { catalog, ledger, capOutput } = this.#parts;
    const credential = credentialOf(exchange.request.headers.authorization);
    if (!credential.ok) return exchange.sendError(credential.error);
    const identity = await ledger.identify(credential.keyHash);
    exchange.figures = identity.figures;
    if (identity.kind === 'unknown') return exchange.sendError(INVALID_API_KEY);
    exchange.keyId = identity.keyId;
    if (identity.kind === 'disabled') return this.#turnAway(exchange, API_KEY_DISABLED);

    const resolved = this.#resolve(await exchange.readBody(), identity.allowlist, exchange);
    if (!resolved.ok) return this.#turnAway(exchange, resolved.error);
    const { request, model } = resolved;

    this.#open++;
    try {
      const models = [model, ...catalog.standIns(model, identity.allowlist)];
      const plan = planFor(request, models, capOutput);
      await this.#admit(exchange, credential.keyHash, request, plan);
    } finally {
      if (--this.#open === 0) this.#onSettled();
    }
  }

  /** Admits a request, and sees it through to its end. */
  async #admit(exchange: Exchange, keyHash: string, request: ChatRequest, plan: Plan): Promise<void> {
    const { requestId } = exchange;
    const { model } = plan.routes[0] as Route;
    const { reservedTokens, inputTokens, outputTokens, holdNanos } = plan;
    const expected = { reservedTokens, inputTokens, outputTokens, holdNanos };
    const admission = await this.#parts.ledger.admit({ requestId, keyHash, model: model.id, ...expected });
    exchange.figures = admission.figures;
    if (!admission.admitted) {
      const { refusal } = admission;
      const error = errorForRefusal(refusal, model.id, holdNanos);
      return this.#turnAway(exchange, error, error.code === 'rate_limited' ? refusal.reason : error.code);
    }
    const admitted: Admitted = { exchange, request, model, plan, meter: new Meter(inputTokens) };
    this.#parts.board.open(liveRequestOf(admitted));
    const relayed = await this.#dispatch(admitted);
    try {
      await this.#settle(admitted, relayed);
      finish(exchange, relayed.last);
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

  #resolve(bytes: Buffer, allowlist: readonly string[] | null, exchange: Exchange): Resolved {
    const read = readJsonBody(bytes);
    if (!read.ok) return refused('invalid_request', read.fault);
    const id = modelOf(read.body);
    if (id === undefined) return refused('invalid_request', 'model: expected a string, <provider>/<model>');
    exchange.model = shownName(id);
    const model = this.#parts.catalog.find(id);
    if (model === undefined) return { ok: false, error: modelNotFound(id) };
    if (allowlist !== null && !allowlist.includes(id)) return { ok: false, error: modelNotAllowed(id) };
    const checked = checkRequest(read.body, id);
    if (!checked.ok) return refused('invalid_request', checked.fault);
    return { ok: true, request: checked.request, model };
  }

  /** Sends the request upstream and relays the answer, whatever it is. Never throws: there is a lease to settle. */
  async #dispatch(admitted: Admitted): Promise<Relayed> {
    const { exchange, request, plan, meter } = admitted;
    if (exchange.gone)
      return { metered: NO_WORK, last: { kind: 'client_gone' }, note: 'the client left before dispatch' };
    if (this.#stopping)
      return { metered: NO_WORK, last: { kind: 'error', error: STOPPING }, note: 'stopped before dispatch' };
    const dispatch = this.#parts.dispatcher.dispatch({
      requestId: exchange.requestId,
      request,
      routes: plan.routes,
      meter,
      sink: sinkOf(exchange, () => admitted.dispatch?.model.id),
    });
    admitted.dispatch = dispatch;
    this.#dispatches.add(dispatch);
    exchange.onGone(() => dispatch.leave());
    try {
      return await dispatch.run();
    } catch (error) {
      this.#parts.log.error({ request_id: exchange.requestId, err: error }, 'fault while relaying');
      dispatch.abort();
      const last: Last = exchange.streamStarted
        ? { kind: 'stream_end', error: FAILED_AFTER_DISPATCH, end: OWN_END }
        : { kind: 'error', error: FAILED_AFTER_DISPATCH };
      return { metered: dispatch.sent ? meter.figures() : NO_WORK, last, note: 'fault of the gateway' };
    } finally {
      this.#dispatches.delete(dispatch);
    }
  }

  /** The one settlement. The end of the answer goes out only after it. */
  async #settle({ exchange, request, dispatch, ...admitted }: Admitted, relayed: Relayed): Promise<void> {
    const { metered, last } = relayed;
    const { requestId } = exchange;
    const model = dispatch?.model ?? admitted.model;
    exchange.servedModel = dispatch?.model.id;
    const usage = await this.#usageOf(metered, request);
    const outcome = outcomeOf(last);
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

  #logNote(requestId: string, model: Model, { metered, last, note }: Relayed): void {
    const notes = [note, metered.isReportUnusable ? UNUSABLE_REPORT : undefined].filter((text) => text !== undefined);
    if (notes.length === 0) return;
    const fields = { request_id: requestId, model: model.id, outcome: outcomeOf(last) };
    this.#parts.log.warn(fields, `${requestId} ${model.id}: ${notes.join('; ')}`);
  }

  /** Runs `work`, and answers what it throws: a body that cannot be had, a ledger that cannot write, a fault of ours. */
  async #guarded(exchange: Exchange, work: () => Promise<void>): Promise<void> {
    this.#answering++;
    try {
      await work();
    } catch (error) {
      if (error instanceof BodyFault) {
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
    if (exchange.streamStarted) exchange.endStream(told, OWN_END);
    else exchange.sendError(told);
  }
}

const UNUSABLE_REPORT = 'the provider reported figures that cannot be right, so the gateway counted for itself';

/** What a request gets that is admitted while the process ends. */
const STOPPING = errorForFailure('aborted');

/** The request as the board shows it while it runs. */
function liveRequestOf(admitted: Admitted): LiveRequest {
  const { exchange, request, model: asked, meter } = admitted;
  return {
    id: exchange.requestId,
    keyId: exchange.keyId ?? '',
    model: asked.id,
    provider: asked.provider,
    stream: request.stream,
    admittedAtMs: Date.now(),
    figures: () => {
      const { usage, source } = meter.figures();
      const model = admitted.dispatch?.model ?? asked;
      return { usage, source, costNanos: usageCost(model, usage), firstByteMs: admitted.dispatch?.firstByteMs };
    },
    served: () => admitted.dispatch?.served,
    stop: () => {
      admitted.dispatch?.abort('stopped');
      // A client that does not read would keep it for as long as it likes.
      exchange.hurry();
    },
  };
}

function refused(code: ClientError['code'], message: string): Resolved {
  return { ok: false, error: { code, message } };
}
