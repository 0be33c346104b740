/** The life of one request, from its key to its log line. */
import { type Catalog, type Model, usageCost } from './catalog/catalog.ts';
import { type ClientError, FAILED_AFTER_DISPATCH, NOT_FORWARDED } from './core/errors.ts';
import type { TokenUsage } from './core/usage.ts';
import { finish, outcomeOf, sinkOf } from './ending.ts';
import { API_KEY_DISABLED, credentialOf, INVALID_API_KEY } from './http/authorization.ts';
import { BodyFault } from './http/body.ts';
import type { Exchange } from './http/exchange.ts';
import { errorForRefusal, modelNotAllowed, modelNotFound, shownName } from './http/refusals.ts';
import { type Ledger, LedgerUnavailable } from './ledger/ledger.ts';
import { listModels } from './listing.ts';
import type { Board, LiveRequest } from './live/board.ts';
import type { Log } from './observe/log.ts';
import { type Plan, planFor } from './plan.ts';
import { relayAnswer } from './relay/answer.ts';
import { errorForFailure } from './relay/failures.ts';
import { Meter, type Metered } from './relay/meter.ts';
import { type Last, NO_WORK, OWN_END, type Relayed } from './relay/relay.ts';
import type { TokenCounter } from './tokens/counter.ts';
import { countUsage } from './tokens/usage.ts';
import type { Attempt } from './upstream/attempt.ts';
import type { Upstream } from './upstream/upstream.ts';
import { readJsonBody } from './wire/body.ts';
import { sampleInput } from './wire/estimate.ts';
import { type ChatRequest, checkRequest, modelOf } from './wire/request.ts';

export interface PipelineParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly board: Board;
  /** By the name of the provider; those that are active. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
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
  attempt?: Attempt;
  /** By the operator: no fault of the upstream's. */
  isStopped?: true;
}

/** A request that is sound, and whose model exists and is allowed. */
type Resolved =
  | { readonly ok: true; readonly request: ChatRequest; readonly model: Model }
  | { readonly ok: false; readonly error: ClientError };

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #attempts = new Set<Attempt>();
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
    for (const attempt of this.#attempts) attempt.abort();
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
    const { ledger } = this.#parts;
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
      await this.#admit(exchange, credential.keyHash, request, model);
    } finally {
      if (--this.#open === 0) this.#onSettled();
    }
  }

  /** Admits a request, and sees it through to its end. */
  async #admit(exchange: Exchange, keyHash: string, request: ChatRequest, model: Model): Promise<void> {
    const plan = planFor(request, model, this.#parts.capOutput);
    const { requestId } = exchange;
    const admission = await this.#parts.ledger.admit({ requestId, keyHash, model: model.id, ...plan });
    exchange.figures = admission.figures;
    if (!admission.admitted) {
      const { refusal } = admission;
      const error = errorForRefusal(refusal, model.id, plan.holdNanos);
      return this.#turnAway(exchange, error, error.code === 'rate_limited' ? refusal.reason : error.code);
    }
    const admitted: Admitted = { exchange, request, model, plan, meter: new Meter(plan.inputTokens) };
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
    const { exchange, request, model, plan, meter } = admitted;
    if (exchange.gone)
      return { metered: NO_WORK, last: { kind: 'client_gone' }, note: 'the client left before dispatch' };
    if (this.#stopping)
      return { metered: NO_WORK, last: { kind: 'error', error: STOPPING }, note: 'stopped before dispatch' };
    const upstream = this.#parts.upstreams.get(model.provider) as Upstream;
    let attempt: Attempt | undefined;
    try {
      attempt = upstream.attempt(request, model.upstream, plan.capTokens);
      admitted.attempt = attempt;
      this.#attempts.add(attempt);
      exchange.onGone(() => attempt?.abort());
      const { secrets } = upstream;
      const options = { stream: request.stream, showUsage: request.includeUsage, secrets };
      return await relayAnswer(attempt, sinkOf(exchange), meter, options);
    } catch (error) {
      this.#parts.log.error({ request_id: exchange.requestId, err: error }, 'fault while relaying');
      attempt?.abort();
      const last: Last = exchange.streamStarted
        ? { kind: 'stream_end', error: FAILED_AFTER_DISPATCH, end: OWN_END }
        : { kind: 'error', error: FAILED_AFTER_DISPATCH };
      return { metered: attempt?.sent === true ? meter.figures() : NO_WORK, last, note: 'fault of the gateway' };
    } finally {
      if (attempt !== undefined) this.#attempts.delete(attempt);
    }
  }

  /** The one settlement. The end of the answer goes out only after it. */
  async #settle({ exchange, request, model, attempt, isStopped }: Admitted, relayed: Relayed): Promise<void> {
    const { metered, last, note } = relayed;
    const { requestId } = exchange;
    const usage = await this.#usageOf(metered, request);
    const outcome = outcomeOf(last);
    const { source, completionId } = metered;
    const end = { outcome, usage, source, costNanos: usageCost(model, usage), firstByteMs: attempt?.firstByteMs };
    exchange.figures = await this.#parts.ledger.settle({ requestId, completionId, ...end });
    this.#parts.board.end(requestId, {
      ...end,
      failure: outcome === 'upstream_error' && !isStopped ? (note ?? '') : undefined,
    });
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
  const { exchange, request, model, meter } = admitted;
  return {
    id: exchange.requestId,
    keyId: exchange.keyId ?? '',
    model: model.id,
    provider: model.provider,
    stream: request.stream,
    admittedAtMs: Date.now(),
    figures: () => {
      const { usage, source } = meter.figures();
      return { usage, source, costNanos: usageCost(model, usage), firstByteMs: admitted.attempt?.firstByteMs };
    },
    stop: () => {
      admitted.isStopped = true;
      admitted.attempt?.abort('stopped');
      // A client that does not read would keep it for as long as it likes.
      exchange.hurry();
    },
  };
}

function refused(code: ClientError['code'], message: string): Resolved {
  return { ok: false, error: { code, message } };
}
