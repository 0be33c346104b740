/** One request's way through the upstreams: asks one after another until one has answered, or none may be asked any more. */

import type { Model } from '../catalog/catalog.ts';
import type { RetryPolicy } from '../core/settings.ts';
import type { Served } from '../core/settlement.ts';
import type { Log } from '../observe/log.ts';
import { relayAnswer } from '../relay/answer.ts';
import { NO_UPSTREAM_AVAILABLE } from '../relay/failures.ts';
import type { Meter } from '../relay/meter.ts';
import { NO_WORK, type RelayResult, type StreamSink } from '../relay/relay.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import type { Member, Provider } from '../upstream/provider.ts';
import { fullBudget, isRejection, onRequest, onRetry } from '../upstream/retry.ts';
import type { ChatRequest } from '../wire/request.ts';
import type { Route } from './plan.ts';
import { outcomeOf } from './respond.ts';

/** How long an answer is read on whose client has left, where its provider says so (`on_disconnect: drain`). */
const DRAIN_AFTER_DISCONNECT_MS = 60_000;
/** How long the body of a refusal is read, so that its connection can be used again. */
const REFUSAL_DRAIN_MS = 1_000;

export interface DispatcherParts {
  /** By name; those that are active. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly retry: RetryPolicy;
  /** After how much silence of the upstream a stream that has begun gets a comment, in milliseconds; undefined for never. */
  readonly keepAliveMs: number | undefined;
  readonly log: Log;
  /** An upstream was asked, and that is over. `failure` says what went wrong, where the upstream is to blame. */
  onVisit(upstream: string, failure: string | undefined): void;
}

/** A request that is to be dispatched. */
export interface Dispatchable {
  readonly requestId: string;
  readonly request: ChatRequest;
  /** The model that was asked for, and then those that stand in for it. */
  readonly routes: readonly Route[];
  readonly meter: Meter;
  readonly sink: StreamSink;
}

/** An upstream that is asked for a model. */
interface Target {
  readonly route: Route;
  readonly member: Member;
}

/** Hands requests to upstreams. What is spent on retries is common to all. */
export class Dispatcher {
  readonly parts: DispatcherParts;
  /** What must never reach a client: one upstream may quote another. */
  readonly secrets: readonly string[];
  #budget = fullBudget(performance.now());

  constructor(parts: DispatcherParts) {
    this.parts = parts;
    this.secrets = [...new Set([...parts.providers.values()].flatMap((provider) => provider.secrets))];
  }

  dispatch(dispatchable: Dispatchable): Dispatch {
    this.#budget = onRequest(this.#budget, this.parts.retry, performance.now());
    return new Dispatch(dispatchable, this);
  }

  /** Takes one retry from the budget, if there is one. */
  spend(): boolean {
    const left = onRetry(this.#budget, this.parts.retry);
    if (left === undefined) return false;
    this.#budget = left;
    return true;
  }
}

export class Dispatch {
  readonly #request: Dispatchable;
  readonly #dispatcher: Dispatcher;
  readonly #tried = new Map<Model, Set<Member>>();
  readonly #beganAtMs = performance.now();
  #target: Target | undefined;
  #attempt: Attempt | undefined;
  #attemptBeganAtMs = 0;
  #attempts = 0;
  /** Of each refusal that came over a connection: whether all of it came. */
  readonly #refusals: Promise<boolean>[] = [];
  #givenUp = false;
  #isOver = false;
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(request: Dispatchable, dispatcher: Dispatcher) {
    this.#request = request;
    this.#dispatcher = dispatcher;
  }

  /** The model that is being asked, or was the last. */
  get model(): Model {
    return (this.#target?.route ?? (this.#request.routes[0] as Route)).model;
  }

  /** Who serves it; undefined until somebody is asked. */
  get served(): Served | undefined {
    if (this.#target === undefined) return undefined;
    return { model: this.model.id, upstream: this.#target.member.name, attempts: this.#attempts };
  }

  /** From dispatch to the first byte of an answer that was not tried again, in whole milliseconds. */
  get firstByteMs(): number | undefined {
    const { firstByteMs } = this.#attempt ?? {};
    return firstByteMs === undefined ? undefined : firstByteMs + Math.round(this.#attemptBeganAtMs - this.#beganAtMs);
  }

  /** True once an upstream may have begun to work. */
  get sent(): boolean {
    return this.#attempt?.sent === true;
  }

  /** Gives up: nobody else is asked. */
  abort(kind: 'aborted' | 'stopped' = 'aborted'): void {
    this.#givenUp = true;
    this.#attempt?.abort(kind);
  }

  /** The client has left: nobody else is asked, and what comes is read on only where the provider says so. */
  leave(): void {
    if (this.#isOver) return;
    if (this.#target?.member.onDisconnect !== 'drain' || !this.sent) return this.abort();
    this.#givenUp = true;
    this.#drainTimer = setTimeout(() => this.#attempt?.abort(), DRAIN_AFTER_DISCONNECT_MS);
  }

  /** Relays all but the last bytes, which wait for the settlement. */
  async run(): Promise<RelayResult> {
    try {
      let target = this.#find(false) ?? this.#find(true);
      while (target !== undefined) {
        const reply = await this.#ask(target);
        if (reply.kind === 'answered')
          return this.#attempts > 1 ? await this.#afterRetries(reply.relayed) : reply.relayed;
        target = reply.next;
      }
      return this.#nobodyLeft();
    } finally {
      this.#isOver = true;
      clearTimeout(this.#drainTimer);
    }
  }

  /** Only a whole refusal proves that no work was done: a request that met another is not free. */
  async #afterRetries(relayed: RelayResult): Promise<RelayResult> {
    const told = withoutRetry(relayed);
    if (relayed.metered !== NO_WORK || (await Promise.all(this.#refusals)).every((isWhole) => isWhole)) return told;
    return { ...told, metered: this.#request.meter.figures() };
  }

  async #ask(target: Target): Promise<Reply> {
    const { request, meter, sink } = this.#request;
    const { parts } = this.#dispatcher;
    const { route, member } = target;
    this.#target = target;
    this.#triedFor(route.model).add(member);
    this.#attempts++;
    this.#attemptBeganAtMs = performance.now();
    let failure: string | undefined;
    try {
      const attempt = member.attempt(request, route.model.upstream, route.capTokens);
      this.#attempt = attempt;
      const refusal = await refusalOf(attempt);
      failure = refusal?.what;
      if (refusal?.isOfUpstream) for (const { model } of this.#request.routes) this.#triedFor(model).add(member);
      const next = refusal && this.#takeNext();
      if (next !== undefined) {
        if (attempt.sent) this.#refusals.push(attempt.drain(REFUSAL_DRAIN_MS));
        return { kind: 'refused', next };
      }
      const { stream, includeUsage: showUsage } = request;
      const options = { stream, showUsage, secrets: this.#dispatcher.secrets, keepAliveMs: parts.keepAliveMs };
      const relayed = await relayAnswer(attempt, sink, meter, options);
      failure =
        outcomeOf(relayed.termination) === 'upstream_error' && !attempt.wasAborted ? (relayed.note ?? '') : undefined;
      return { kind: 'answered', relayed };
    } finally {
      member.release();
      parts.onVisit(member.name, failure);
    }
  }

  /** Who is to be asked after a refusal: it takes one retry from the budget. Undefined where that must not be. */
  #takeNext(): Target | undefined {
    const { retry, log } = this.#dispatcher.parts;
    if (this.#givenUp || this.#attempts >= retry.attempts) return undefined;
    const next = this.#find(false);
    if (next === undefined || !this.#dispatcher.spend()) return undefined;
    const { requestId } = this.#request;
    const [from, to] = [this.#target, next].map((target) => `${target?.member.name} for ${target?.route.model.id}`);
    log.info({ request_id: requestId, from, to }, `${requestId}: ${from} did not take it; now ${to}`);
    return next;
  }

  #find(isLastResort: boolean): Target | undefined {
    for (const route of this.#request.routes) {
      const { upstream } = route.model;
      const member = this.#providerOf(route).pick(upstream, this.#triedFor(route.model), isLastResort);
      if (member !== undefined) return { route, member };
    }
    return undefined;
  }

  #nobodyLeft(): RelayResult {
    const waits = this.#request.routes.map((route) => this.#providerOf(route).waitMs(route.model.upstream));
    const retryAfterS = Math.max(1, Math.ceil(Math.min(...waits) / 1000));
    const error = { ...NO_UPSTREAM_AVAILABLE, retryAfterS };
    return {
      metered: NO_WORK,
      termination: { kind: 'error', error },
      note: 'every upstream is left alone at the moment',
    };
  }

  #providerOf({ model }: Route): Provider {
    return this.#dispatcher.parts.providers.get(model.provider) as Provider;
  }

  #triedFor(model: Model): Set<Member> {
    const tried = this.#tried.get(model) ?? new Set();
    this.#tried.set(model, tried);
    return tried;
  }
}

/** What asking an upstream came to. */
type Reply =
  | { readonly kind: 'answered'; readonly relayed: RelayResult }
  /** It did not take the request on, and another one is to be asked. */
  | { readonly kind: 'refused'; readonly next: Target };

/** Why an upstream cannot have begun to work. */
interface Refusal {
  /** For the operator. */
  readonly what: string;
  /** True where it would not serve another model either. */
  readonly isOfUpstream: boolean;
}

/** Says so where the upstream cannot have begun to work: no connection was made, or it refused outright. */
async function refusalOf(attempt: Attempt): Promise<Refusal | undefined> {
  try {
    const { status } = await attempt.head();
    if (!isRejection(status)) return undefined;
    return { what: `the upstream answered ${status}`, isOfUpstream: status !== 429 };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return attempt.sent || attempt.wasAborted ? undefined : { what: error.message, isOfUpstream: true };
  }
}

/** The gateway has tried for the client; if it tried again as often, an outage would be multiplied. */
function withoutRetry(relayed: RelayResult): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.code !== 'upstream_error') return relayed;
  return { ...relayed, termination: { ...termination, error: { ...termination.error, shouldRetry: false } } };
}
