/** What one carrier is doing: requests under way, those that ended last, and how its upstreams fare. In memory only. */
import { formatUsd, type Nanos } from '../core/money.ts';
import type { TokenUsage, UsageSource } from '../core/usage.ts';
import { type Second, Traffic } from './traffic.ts';

/** How many requests that have ended or were refused are remembered. */
const REMEMBERED_REQUESTS = 200;
/** How many of those under way are shown, the oldest first. */
const SHOWN_LIVE = 500;
/** Over so long the health of an upstream is judged, in seconds. */
const HEALTH_S = 60;

/** What does not change of a request. */
export interface RequestFacts {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly stream: boolean;
  readonly admittedAtMs: number;
}

/** A request under way, as far as the board needs to know it. */
export interface LiveRequest extends RequestFacts {
  /** What it has used so far, and what that costs. */
  figures(): LiveFigures;
  /** Gives it up: its client gets an error, and what it used is charged. */
  stop(): void;
}

export interface LiveFigures {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
}

/** A row of the screen: a request that is under way, has ended, or was refused. */
export interface RequestRow {
  readonly id: string;
  readonly key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly stream: boolean;
  readonly admitted_at_ms: number;
  /** Undefined while it is under way. */
  readonly ended_at_ms?: number;
  /** How it ended, or with which error it was refused. */
  readonly outcome?: string;
  readonly source?: UsageSource;
  readonly first_byte_ms?: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: string;
}

/** How an upstream fared in the last minute. */
export interface UpstreamHealth {
  readonly provider: string;
  readonly in_flight: number;
  readonly requests: number;
  readonly failures: number;
  readonly last_failure: { readonly at_ms: number; readonly message: string } | null;
}

export interface BoardView {
  readonly seconds: readonly Second[];
  readonly live: readonly RequestRow[];
  /** The latest last. */
  readonly recent: readonly RequestRow[];
  readonly upstreams: readonly UpstreamHealth[];
}

/** What is to be known of a request when it ends. */
export interface RequestEnd {
  readonly outcome: string;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
  /** Where the upstream is to blame: what went wrong, for the operator. */
  readonly failure: string | undefined;
}

/** A request of a known key that was refused. */
export interface RefusedRequest {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly code: string;
}

export class Board {
  readonly #traffic = new Traffic();
  readonly #live = new Map<string, LiveRequest>();
  /** As functions: rows are made only when somebody looks. */
  readonly #recent: (() => RequestRow)[] = [];
  readonly #failures = new Map<string, UpstreamHealth['last_failure']>();

  open(request: LiveRequest): void {
    this.#live.set(request.id, request);
  }

  end(id: string, end: RequestEnd): void {
    const request = this.#live.get(id);
    if (request === undefined) return;
    this.#live.delete(id);
    const nowMs = Date.now();
    const { usage, costNanos, firstByteMs, failure, outcome } = end;
    const tokens = usage.promptTokens + usage.completionTokens;
    this.#traffic.countEnded({
      provider: request.provider,
      failed: failure !== undefined,
      tokens,
      costNanos,
      firstByteMs,
    });
    if (outcome !== 'ok' && outcome !== 'cancelled') this.#traffic.countError(outcome);
    if (failure !== undefined) this.#failures.set(request.provider, { at_ms: nowMs, message: failure });
    // Not the request itself, which holds the whole body.
    const { keyId, model, provider, stream, admittedAtMs } = request;
    const facts = { id, keyId, model, provider, stream, admittedAtMs };
    this.#remember(() => ({ ...rowOf(facts, end), ended_at_ms: nowMs, outcome }));
  }

  /** Forgets a request that could not be settled. */
  drop(id: string): void {
    this.#live.delete(id);
  }

  refuse({ id, keyId, model, code }: RefusedRequest): void {
    const nowMs = Date.now();
    this.#traffic.countError(code);
    const nothing = { stream: false, prompt_tokens: 0, completion_tokens: 0, cost_usd: formatUsd(0n) };
    const times = { admitted_at_ms: nowMs, ended_at_ms: nowMs };
    this.#remember(() => ({ id, key_id: keyId, model, provider: '', ...nothing, ...times, outcome: code }));
  }

  /** Gives up a request that is under way. False where there is none of that id. */
  stop(id: string): boolean {
    const request = this.#live.get(id);
    request?.stop();
    return request !== undefined;
  }

  get inFlight(): number {
    return this.#live.size;
  }

  /** How things stand, with the seconds from `sinceS` on. */
  view(sinceS: number): BoardView {
    const live = [...this.#live.values()].slice(0, SHOWN_LIVE).map((request) => rowOf(request, request.figures()));
    return {
      seconds: this.#traffic.since(sinceS),
      live,
      recent: this.#recent.map((row) => row()),
      upstreams: this.#upstreams(),
    };
  }

  #upstreams(): UpstreamHealth[] {
    const inFlight = new Map<string, number>();
    for (const { provider } of this.#live.values()) inFlight.set(provider, (inFlight.get(provider) ?? 0) + 1);
    const visits = this.#traffic.visitsSince(Math.floor(Date.now() / 1000) - HEALTH_S);
    const providers = new Set([...inFlight.keys(), ...visits.keys(), ...this.#failures.keys()]);
    return [...providers].map((provider) => ({
      provider,
      in_flight: inFlight.get(provider) ?? 0,
      requests: visits.get(provider)?.requests ?? 0,
      failures: visits.get(provider)?.failures ?? 0,
      last_failure: this.#failures.get(provider) ?? null,
    }));
  }

  #remember(row: () => RequestRow): void {
    this.#recent.push(row);
    if (this.#recent.length > REMEMBERED_REQUESTS) this.#recent.shift();
  }
}

function rowOf(request: RequestFacts, { usage, source, costNanos, firstByteMs }: LiveFigures): RequestRow {
  return {
    id: request.id,
    key_id: request.keyId,
    model: request.model,
    provider: request.provider,
    stream: request.stream,
    admitted_at_ms: request.admittedAtMs,
    source,
    ...(firstByteMs !== undefined && { first_byte_ms: firstByteMs }),
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: formatUsd(costNanos),
  };
}
