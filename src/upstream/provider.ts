/** A provider's upstreams: which of them is asked next, how each of them fares, and which are left alone. */
import type { ChatRequest } from '../wire/request.ts';
import type { Attempt } from './attempt.ts';
import { type Breaker, type BreakerState, CLOSED, onAsked, onSign, type Sign, stateOf } from './breaker.ts';
import { type Among, askable, choose } from './choice.ts';
import { isRejection, restOf } from './retry.ts';
import type { Upstream } from './upstream.ts';

/** An upstream with its share of the requests. */
export interface WeightedUpstream {
  /** For the operator: the provider's name, with a number where there are several. */
  readonly name: string;
  readonly weight: number;
  readonly upstream: Upstream;
}

export interface ProviderOptions {
  /** What becomes of an answer whose client leaves: it is broken off, or read to its end so that its usage is known. */
  readonly onDisconnect: 'abort' | 'drain';
  /** False where failures say nothing of the upstream, so that it is asked whatever it answered before. */
  readonly tracksHealth: boolean;
}

/** A model that an upstream has asked to be left alone with. */
interface ModelRest {
  readonly untilMs: number;
  /** How often in a row it has asked for that. */
  readonly times: number;
}

/** Those that one request has been sent to already. */
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
  #restsUntilMs = 0;
  /** By the upstream's name of the model: a host limits the rate of each model by itself. */
  readonly #modelRests = new Map<string, ModelRest>();

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

  /** Until when a model must not be asked for here. */
  restsUntilMs(model: string): number {
    return Math.max(this.#restsUntilMs, this.#modelRests.get(model)?.untilMs ?? 0);
  }

  /** How often in a row it was away, or would not serve the model for a time. */
  absences(model: string): number {
    return Math.max(this.#breaker.absences, this.#modelRests.get(model)?.times ?? 0);
  }

  /** How it is regarded at the moment: `resting` at its own word, with `Retry-After`. */
  get state(): BreakerState | 'backing_off' {
    const nowMs = this.#nowMs();
    if (this.#restsUntilMs > nowMs || [...this.#modelRests.values()].some(({ untilMs }) => untilMs > nowMs))
      return 'backing_off';
    return stateOf(this.#breaker, nowMs);
  }

  /** Sends a request; `release` has to follow once it is over. */
  attempt(request: ChatRequest, model: string, capTokens: number | undefined): Attempt {
    const wasProbing = this.#breaker.isProbing;
    this.#breaker = onAsked(this.#breaker, this.#nowMs());
    const isProbe = this.#breaker.isProbing && !wasProbing;
    this.inFlight++;
    const attempt = this.#upstream.attempt(request, model, capTokens);
    if (this.#tracksHealth) this.#judge(attempt, model, isProbe);
    return attempt;
  }

  #judge(attempt: Attempt, model: string, isProbe: boolean): void {
    // An answer can take minutes: where nobody was there, that somebody is has to be enough for the others.
    if (isProbe) attempt.onSent(() => this.#note('there'));
    attempt.head().then(
      ({ status, retryAfter }) => {
        const restMs = isRejection(status) ? restOf(retryAfter, Date.now()) : undefined;
        this.#noteModel(model, status === 429 ? restMs : undefined);
        if (restMs === undefined) this.#note(status === 429 || status >= 500 ? 'failing' : 'well');
        // It answers for itself, and may well serve other models.
        else if (status === 429) this.#note('well');
        else this.#rest(restMs);
      },
      () => {
        if (!attempt.wasAborted) this.#note(attempt.sent ? 'failing' : 'away');
        else if (isProbe) this.#note('nothing');
      },
    );
  }

  release(): void {
    this.inFlight--;
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }

  #note(sign: Sign): void {
    this.#breaker = onSign(this.#breaker, sign, this.#nowMs());
  }

  /** A longer pause that was asked for earlier holds. */
  #rest(restMs: number): void {
    this.#note('resting');
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#nowMs() + restMs);
  }

  /** Notes whether a model is to be left alone. What was asked for earlier holds, whatever other requests bring. */
  #noteModel(model: string, restMs: number | undefined): void {
    const rest = this.#modelRests.get(model);
    if (restMs !== undefined)
      this.#modelRests.set(model, {
        untilMs: Math.max(rest?.untilMs ?? 0, this.#nowMs() + restMs),
        times: (rest?.times ?? 0) + 1,
      });
    else if (rest !== undefined) this.#modelRests.set(model, { ...rest, times: 0 });
  }
}

export class Provider {
  readonly members: readonly Member[];
  /** What must never reach a client: one upstream may quote another. */
  readonly secrets: readonly string[];
  readonly #nowMs: () => number;

  constructor(upstreams: readonly WeightedUpstream[], options: ProviderOptions, nowMs = () => performance.now()) {
    this.members = upstreams.map((upstream) => new Member(upstream, options, nowMs));
    this.secrets = [...new Set(upstreams.flatMap(({ upstream }) => upstream.secrets))];
    this.#nowMs = nowMs;
  }

  /** The upstream that is to be asked for a model next, or undefined where none may be. */
  pick(model: string, tried: Tried, among: Among): Member | undefined {
    const sole = this.members.length === 1 ? this.members[0] : undefined;
    // The usual case, and the quickest.
    if (sole?.breaker === CLOSED && tried.size === 0 && sole.restsUntilMs(model) === 0) return sole;
    const nowMs = this.#nowMs();
    const left = tried.size === 0 ? this.members : this.members.filter((member) => !tried.has(member));
    const candidates = left.map((member) => ({
      weight: member.weight,
      credit: member.credit,
      inFlight: member.inFlight,
      breaker: member.breaker,
      absences: member.absences(model),
      restsUntilMs: member.restsUntilMs(model),
    }));
    const choice = choose(candidates, askable(candidates, nowMs, among));
    if (choice === undefined) return undefined;
    for (const [place, member] of left.entries()) member.credit = choice.credits[place] as number;
    return left[choice.place];
  }

  /** How long until one of the upstreams may be asked for a model, in milliseconds. */
  waitMs(model: string): number {
    const nowMs = this.#nowMs();
    const waits = this.members.map((member) => Math.max(member.restsUntilMs(model), member.breaker.openUntilMs ?? 0));
    return Math.max(0, Math.min(...waits) - nowMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }
}
