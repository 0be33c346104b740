/** What one worker is doing: requests under way, those that ended last, and how its upstreams fare. In memory only. */

import { providerOf } from '../core/model-terms.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import type { Served } from '../core/settlement.ts';
import type { TokenUsage, UsageSource } from '../core/usage.ts';
import { type Second, Traffic } from './traffic.ts';

/** How many requests that have ended or were refused are remembered. */
export const REMEMBERED_REQUESTS = 200;
/** How many of those under way are shown at most, the oldest first. */
export const SHOWN_LIVE = 500;
/** Over so long the health of an upstream is judged, in seconds. */
const HEALTH_S = 60;

/** What does not change of a request. */
export interface RequestFacts {
  readonly id: string;
  readonly keyId: string;
  /** The one that was asked for. */
  readonly model: string;
  readonly stream: boolean;
  readonly admittedAtMs: number;
}

/** A request under way, as far as the board needs to know it. */
export interface LiveRequest extends RequestFacts {
  /** What it has used so far, and what that costs. */
  figures(): LiveFigures;
  /** Who serves it; undefined until an upstream is asked. */
  served(): Served | undefined;
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
  /** The one that serves. */
  readonly model: string;
  /** The one that was asked for, where that is another. */
  readonly requested_model?: string;
  /** The provider that serves; empty for a request that was refused. */
  readonly provider: string;
  /** Which upstream serves, and how many have been asked; absent where none was. */
  readonly upstream?: string;
  readonly attempts?: number;
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
  /** The provider's name, with a number where it has several. */
  readonly upstream: string;
  readonly state: UpstreamState;
  readonly in_flight: number;
  readonly requests: number;
  readonly failures: number;
  readonly last_failure: { readonly at_ms: number; readonly message: string } | null;
}

/** `backing_off`: it sent `Retry-After`, which has not elapsed; the others are those of its circuit breaker. */
export type UpstreamState = 'closed' | 'open' | 'half_open' | 'backing_off';

/** An upstream of the config, and how it is regarded. */
export interface UpstreamFacts {
  readonly provider: string;
  readonly name: string;
  readonly state: UpstreamState;
}

/** What is wanted of a board: making rows takes time from requests, so no more are made than somebody sees. */
export interface SnapshotQuery {
  /** The seconds from here on, since 1970. */
  readonly sinceS: number;
  /** The requests that ended from here on, in milliseconds since 1970. */
  readonly endedSinceMs: number;
  /** How many requests under way at most, the oldest first. */
  readonly mostLive: number;
  /** How many that have ended at most, the latest. */
  readonly mostEnded: number;
}

/** All that there is. */
export const EVERYTHING: SnapshotQuery = {
  sinceS: 0,
  endedSinceMs: 0,
  mostLive: SHOWN_LIVE,
  mostEnded: REMEMBERED_REQUESTS,
};

export interface MonitorSnapshot {
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
  readonly served: Served | undefined;
}

/** A request of a known key that was refused. */
export interface RefusedRequest {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly code: string;
}

/** A request that has ended. Its row is made only when somebody looks. */
interface Remembered {
  readonly endedAtMs: number;
  row(): RequestRow;
}

export class Monitor {
  readonly #upstreams: () => readonly UpstreamFacts[];
  readonly #traffic = new Traffic();
  readonly #live = new Map<string, LiveRequest>();
  readonly #recent: Remembered[] = [];
  readonly #failures = new Map<string, UpstreamHealth['last_failure']>();

  /** `upstreams` tells which there are at the moment. */
  constructor(upstreams: () => readonly UpstreamFacts[] = () => []) {
    this.#upstreams = upstreams;
  }

  open(request: LiveRequest): void {
    this.#live.set(request.id, request);
  }

  end(id: string, end: RequestEnd): void {
    const request = this.#live.get(id);
    if (request === undefined) return;
    this.#live.delete(id);
    const nowMs = Date.now();
    const { usage, costNanos, firstByteMs, outcome } = end;
    const tokens = usage.promptTokens + usage.completionTokens;
    this.#traffic.countEnded({ tokens, costNanos, firstByteMs });
    if (outcome !== 'ok' && outcome !== 'cancelled') this.#traffic.countError(outcome);
    // Not the request itself, which holds the whole body.
    const { keyId, model, stream, admittedAtMs } = request;
    const facts = { id, keyId, model, stream, admittedAtMs };
    this.#remember({
      endedAtMs: nowMs,
      row: () => ({ ...rowOf(facts, end, end.served), ended_at_ms: nowMs, outcome }),
    });
  }

  /** Counts that an upstream was asked. `failure` says what went wrong, where it is to blame. */
  visit(upstream: string, failure: string | undefined): void {
    this.#traffic.countVisit(upstream, failure !== undefined);
    if (failure !== undefined) this.#failures.set(upstream, { at_ms: Date.now(), message: failure });
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
    const row = () => ({ id, key_id: keyId, model, provider: '', ...nothing, ...times, outcome: code });
    this.#remember({ endedAtMs: nowMs, row });
  }

  /** Gives up a request that is under way. False where there is none of that id. */
  stop(id: string): boolean {
    const request = this.#live.get(id);
    request?.stop();
    return request !== undefined;
  }

  view({ sinceS, endedSinceMs, mostLive, mostEnded }: SnapshotQuery): MonitorSnapshot {
    const live = this.#live.values().take(mostLive);
    const recent = this.#recent.slice(Math.max(0, this.#recent.length - mostEnded));
    return {
      seconds: this.#traffic.since(sinceS),
      live: Array.from(live, (request) => rowOf(request, request.figures(), request.served())),
      recent: recent.filter(({ endedAtMs }) => endedAtMs >= endedSinceMs).map(({ row }) => row()),
      upstreams: this.#health(),
    };
  }

  #health(): UpstreamHealth[] {
    const inFlight = new Map<string, number>();
    for (const request of this.#live.values()) {
      const name = request.served()?.upstream;
      if (name !== undefined) inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
    }
    const visits = this.#traffic.visitsSince(Math.floor(Date.now() / 1000) - HEALTH_S);
    return this.#upstreams().map(({ provider, name, state }) => ({
      provider,
      upstream: name,
      state,
      in_flight: inFlight.get(name) ?? 0,
      requests: visits.get(name)?.requests ?? 0,
      failures: visits.get(name)?.failures ?? 0,
      last_failure: this.#failures.get(name) ?? null,
    }));
  }

  #remember(request: Remembered): void {
    this.#recent.push(request);
    if (this.#recent.length > REMEMBERED_REQUESTS) this.#recent.shift();
  }
}

function rowOf(
  request: RequestFacts,
  { usage, source, costNanos, firstByteMs }: LiveFigures,
  served: Served | undefined,
): RequestRow {
  const model = served?.model ?? request.model;
  return {
    id: request.id,
    key_id: request.keyId,
    model,
    ...(model !== request.model && { requested_model: request.model }),
    provider: providerOf(model),
    ...(served !== undefined && { upstream: served.upstream, attempts: served.attempts }),
    stream: request.stream,
    admitted_at_ms: request.admittedAtMs,
    source,
    ...(firstByteMs !== undefined && { first_byte_ms: firstByteMs }),
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: formatUsd(costNanos),
  };
}
