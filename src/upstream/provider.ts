/** A provider's upstreams: picks one for each request, and tracks their health and backoffs. */
import { currentSecrets, type Secrets } from '../wire/secrets.ts';
import { type Attempt, type ResponseHead, UpstreamFailure } from './attempt.ts';
import { type Backoff, isOver, NO_BACKOFF, nextRequestMs, onRequestSent, onRetryAfter, onSuccess } from './backoff.ts';
import { type Breaker, type BreakerState, CLOSED, onAttempt, onSignal, type Signal, stateOf } from './breaker.ts';
import { type Among, type Choice, choose, eligible } from './choice.ts';
import { isRejection, parseRetryAfter } from './retry.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

/** An upstream with its share of the requests. */
export interface WeightedUpstream {
  /** For the operator: the provider's name, with a number if there are several upstreams. */
  readonly name: string;
  readonly weight: number;
  readonly upstream: Upstream;
}

export interface ProviderOptions {
  /** Handling of a response after its client left; `drain` reads it to its end for its usage. */
  readonly onDisconnect: 'abort' | 'drain';
  /** False if failures do not indicate the upstream's health: then it always gets requests. */
  readonly tracksHealth: boolean;
}

/** The backoff of one model at an upstream. */
interface ModelBackoff {
  readonly backoff: Backoff;
  /** The number of consecutive Retry-After responses. */
  readonly count: number;
}

/** The upstreams that a request has already been sent to. */
export type Tried = ReadonlySet<Member>;

/** One upstream of a provider. */
export class Member {
  readonly name: string;
  readonly weight: number;
  readonly onDisconnect: 'abort' | 'drain';
  readonly #tracksHealth: boolean;
  readonly #upstream: Upstream;
  readonly #nowMs: () => number;
  credit = 0;
  inFlight = 0;
  #breaker: Breaker = CLOSED;
  #backoff = NO_BACKOFF;
  /** By the upstream's name of the model: hosts limit the rate of each model separately. */
  readonly #modelBackoffs = new Map<string, ModelBackoff>();

  constructor({ name, weight, upstream }: WeightedUpstream, options: ProviderOptions, nowMs: () => number) {
    this.name = name;
    this.weight = weight;
    this.onDisconnect = options.onDisconnect;
    this.#tracksHealth = options.tracksHealth;
    this.#upstream = upstream;
    this.#nowMs = nowMs;
  }

  get breaker(): Breaker {
    return this.#breaker;
  }

  /** The time until which this upstream must not be used for a model; then a probe is allowed. */
  backoffUntilMs(model: string): number {
    const ofModel = this.#modelBackoffs.get(model)?.backoff ?? NO_BACKOFF;
    return Math.max(nextRequestMs(this.#backoff), nextRequestMs(ofModel));
  }

  /** Consecutive times that the upstream, or the model there, was unavailable. */
  unavailableCount(model: string): number {
    return Math.max(this.#breaker.unavailableCount, this.#modelBackoffs.get(model)?.count ?? 0);
  }

  /** `backing_off`: a `Retry-After` of the upstream, for at least one model, has not elapsed. */
  get state(): BreakerState | 'backing_off' {
    const nowMs = this.#nowMs();
    const backoffs = [this.#backoff, ...Array.from(this.#modelBackoffs.values(), ({ backoff }) => backoff)];
    if (!backoffs.every((backoff) => isOver(backoff, nowMs))) return 'backing_off';
    return stateOf(this.#breaker, nowMs);
  }

  /** Whether the breaker is closed and no backoff applies to the model. */
  isHealthy(model: string): boolean {
    const nowMs = this.#nowMs();
    const ofModel = this.#modelBackoffs.get(model)?.backoff ?? NO_BACKOFF;
    return stateOf(this.#breaker, nowMs) === 'closed' && isOver(this.#backoff, nowMs) && isOver(ofModel, nowMs);
  }

  /** Sends an auxiliary request. Its result does not affect the health of the upstream. */
  attemptUntracked(call: UpstreamCall): Attempt {
    return this.#upstream.attempt(call);
  }

  /** Requests an object stored at the upstream, without affecting its health. */
  ask(method: 'GET' | 'DELETE', path: string): Attempt {
    return this.#upstream.ask(method, path);
  }

  /** Sends a request; the caller must call `release` at its end. */
  attempt(call: UpstreamCall): Attempt {
    const { model } = call;
    const wasProbing = this.#breaker.isProbing;
    const nowMs = this.#nowMs();
    this.#breaker = onAttempt(this.#breaker, nowMs);
    this.#backoff = onRequestSent(this.#backoff, nowMs);
    this.#setModelBackoff(model, (backoff) => onRequestSent(backoff, nowMs));
    const isProbe = this.#breaker.isProbing && !wasProbing;
    this.inFlight++;
    const attempt = this.#upstream.attempt(call);
    if (this.#tracksHealth) this.#trackHealth(attempt, model, isProbe, nowMs);
    return attempt;
  }

  #trackHealth(attempt: Attempt, model: string, isProbe: boolean, sentAtMs: number): void {
    // A response can take minutes. If an upstream was unreachable, a connection suffices to let other requests use it as
    // their last resort.
    if (isProbe) attempt.onSent(() => this.#signal('connected'));
    attempt.onOpened((opening) => {
      if (!(opening instanceof UpstreamFailure)) this.#trackHead(opening, model, sentAtMs);
      else if (!attempt.isInconclusive) this.#signal(attempt.sent ? 'failure' : 'unreachable');
      else if (isProbe) this.#signal('inconclusive');
    });
  }

  #trackHead({ status, retryAfter }: ResponseHead, model: string, sentAtMs: number): void {
    const backoffMs = isRejection(status) ? parseRetryAfter(retryAfter, Date.now()) : undefined;
    this.#trackModel(model, status === 429 ? backoffMs : undefined);
    if (status >= 200 && status < 300) this.#endBackoffs(model, sentAtMs);
    if (backoffMs === undefined) this.#signal(status === 429 || status >= 500 ? 'failure' : 'success');
    // A rate limit concerns the model: the upstream itself works, and may serve other models.
    else if (status === 429) this.#signal('success');
    else this.#backOff(backoffMs);
  }

  release(): void {
    this.inFlight--;
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }

  #signal(signal: Signal): void {
    this.#breaker = onSignal(this.#breaker, signal, this.#nowMs());
  }

  #backOff(backoffMs: number): void {
    this.#signal('backing_off');
    this.#backoff = onRetryAfter(this.#backoff, backoffMs, this.#nowMs());
  }

  /** Starts a backoff of the model, or resets its count. */
  #trackModel(model: string, backoffMs: number | undefined): void {
    const previous = this.#modelBackoffs.get(model);
    if (backoffMs !== undefined) {
      const backoff = onRetryAfter(previous?.backoff ?? NO_BACKOFF, backoffMs, this.#nowMs());
      this.#modelBackoffs.set(model, { backoff, count: (previous?.count ?? 0) + 1 });
    } else if (previous !== undefined) this.#modelBackoffs.set(model, { ...previous, count: 0 });
  }

  #endBackoffs(model: string, sentAtMs: number): void {
    this.#backoff = onSuccess(this.#backoff, sentAtMs);
    this.#setModelBackoff(model, (backoff) => onSuccess(backoff, sentAtMs));
  }

  /** Replaces the backoff of a model, if there is one. */
  #setModelBackoff(model: string, next: (backoff: Backoff) => Backoff): void {
    const previous = this.#modelBackoffs.get(model);
    if (previous !== undefined) this.#modelBackoffs.set(model, { ...previous, backoff: next(previous.backoff) });
  }
}

export class Provider {
  readonly members: readonly Member[];
  readonly #secrets: () => Secrets;
  readonly #nowMs: () => number;

  constructor(upstreams: readonly WeightedUpstream[], options: ProviderOptions, nowMs = () => performance.now()) {
    this.members = upstreams.map((upstream) => new Member(upstream, options, nowMs));
    this.#secrets = currentSecrets(upstreams.map(({ upstream }) => upstream));
    this.#nowMs = nowMs;
  }

  /** Secrets that must never reach a client. They include all upstreams, because one may quote another. */
  get secrets(): Secrets {
    return this.#secrets();
  }

  /** The next upstream for a request to a model; undefined if none is eligible. */
  pick(model: string, tried: Tried, among: Among): Member | undefined {
    const sole = this.members.length === 1 ? this.members[0] : undefined;
    // Fast path for the common case.
    if (sole?.breaker === CLOSED && tried.size === 0 && sole.backoffUntilMs(model) === 0) return sole;
    const untried = tried.size === 0 ? this.members : this.members.filter((member) => !tried.has(member));
    const choice = this.#choose(model, untried, among);
    if (choice === undefined) return undefined;
    for (const [index, member] of untried.entries()) member.credit = choice.credits[index] as number;
    return untried[choice.index];
  }

  /** The upstream that `pick` would return for a new request. Changes no state. */
  next(model: string, among: Among): Member | undefined {
    const choice = this.#choose(model, this.members, among);
    return choice && this.members[choice.index];
  }

  /** A healthy upstream for an auxiliary request. Changes no state. */
  healthyFor(model: string): Member | undefined {
    const healthy = this.members.filter((member) => member.isHealthy(model));
    const choice = this.#choose(model, healthy, 'available');
    return choice && healthy[choice.index];
  }

  #choose(model: string, members: readonly Member[], among: Among): Choice | undefined {
    const candidates = members.map((member) => ({
      weight: member.weight,
      credit: member.credit,
      inFlight: member.inFlight,
      breaker: member.breaker,
      unavailableCount: member.unavailableCount(model),
      backoffUntilMs: member.backoffUntilMs(model),
    }));
    return choose(candidates, eligible(candidates, this.#nowMs(), among));
  }

  /** Time until an upstream is available for a model or may be probed, in milliseconds. */
  waitMs(model: string): number {
    const nowMs = this.#nowMs();
    const waits = this.members.map((member) => Math.max(member.backoffUntilMs(model), member.breaker.openUntilMs ?? 0));
    return Math.max(0, Math.min(...waits) - nowMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }
}
