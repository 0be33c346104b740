/** Tracks one worker: requests in flight, the latest ended requests, and the health of its upstreams. In memory only. */

import type { ErrorCode } from '../core/errors.ts';
import type { Failure } from '../core/failure.ts';
import { providerOf } from '../core/model-terms.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { Roster } from '../core/roster.ts';
import { isErrorOutcome, type Outcome, type Served } from '../core/settlement.ts';
import type { SpentBy } from '../core/spent-by.ts';
import type { TokenUsage, UsageSource } from '../core/usage.ts';
import { type AttemptFailure, FailureCauses } from './failure-causes.ts';
import { FirstBytes } from './first-bytes.ts';
import { KeyMinutes } from './key-minutes.ts';
import type { LoopDelay } from './loop-delay.ts';
import { type RefusalPage, type RefusalQuery, Refusals, type RefusedMinutes } from './refusals.ts';
import type { RefusingLevel, TallyCounter } from './tally.ts';
import { Traffic } from './traffic.ts';
import {
  MAX_ENDED,
  type RequestRow,
  type UpstreamHealth,
  type UpstreamState,
  type WorkerQuery,
  type WorkerSnapshot,
} from './worker-snapshot.ts';

/** The span for the health of an upstream, in seconds. */
const HEALTH_S = 60;

/** The constant part of a request. */
export interface RequestFacts {
  readonly id: string;
  readonly keyId: string;
  /** The groups to which it is booked, from inside out; undefined without any. */
  readonly groups?: readonly string[] | undefined;
  /** The requested model. */
  readonly model: string;
  readonly stream: boolean;
  readonly admittedAtMs: number;
}

/** The part of a request in flight that the monitor reads. */
export interface LiveRequest extends RequestFacts {
  /** Its usage up to now, and the cost. */
  figures(): LiveFigures;
  /** The upstream that serves it; undefined until it is dispatched. */
  served(): Served | undefined;
  /** Its user, tag and app; undefined without any. */
  spentBy(): SpentBy | undefined;
  /** Aborts it: the client gets an error, and is charged for the usage up to now. */
  stop(): void;
}

export interface LiveFigures {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
}

/** An upstream in the config, with its present state. */
export interface UpstreamFacts {
  readonly provider: string;
  readonly name: string;
  readonly state: UpstreamState;
}

/** The part of an ended request that the monitor records. */
export interface RequestEnd {
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
  readonly served: Served | undefined;
  readonly failure?: Failure | undefined;
  readonly spentBy?: SpentBy | undefined;
}

/** A refused request of a valid key. */
export interface RefusedRequest {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly code: ErrorCode;
  /** The reason, if the code has several; otherwise the code. */
  readonly reason: string;
  /** The reason with its figures, in a few words. */
  readonly cause: string;
  /** The level with the limit or state; undefined for the key itself. */
  readonly level?: RefusingLevel | undefined;
  /** Its user, tag and app, if they were read before the refusal. */
  readonly spentBy?: SpentBy | undefined;
}

/** An ended or refused request. Its row is built only for a snapshot that shows it. */
interface EndedRequest {
  readonly endedAtMs: number;
  row(): RequestRow;
}

/** Figures from other sources, read for each snapshot. */
export interface MonitorSources {
  upstreams(): readonly UpstreamFacts[];
  inFlight(): number;
  loopDelay(): LoopDelay;
}

export class Monitor {
  readonly #sources: MonitorSources;
  readonly #traffic = new Traffic();
  readonly #live = new Roster<LiveRequest>();
  readonly #ended: EndedRequest[] = [];
  readonly #failures = new Map<string, FailureCauses>();
  readonly #asked = new Set<string>();
  readonly #keys = new KeyMinutes();
  readonly #firstBytes = new FirstBytes();

  readonly #refusals: Refusals;
  readonly #counter: TallyCounter | undefined;

  /** `counter` counts from the start on, if metrics are configured. `mostRefusals`: the number of remembered refusals. */
  constructor(sources: MonitorSources, counter?: TallyCounter, mostRefusals?: number) {
    this.#sources = sources;
    this.#refusals = new Refusals(mostRefusals);
    this.#counter = counter;
  }

  /** Adds a request in flight. `close` removes it by the returned number. */
  open(request: LiveRequest): number {
    return this.#live.add(request);
  }

  /** Removes a request that is no longer in flight. */
  close(place: number): void {
    this.#live.remove(place);
  }

  /** Counts a settled request, and remembers it for a while. */
  countEnded(request: RequestFacts, end: RequestEnd): void {
    const nowMs = Date.now();
    const { usage, costNanos, firstByteMs, outcome, failure } = end;
    const tokens = usage.promptTokens + usage.completionTokens;
    this.#traffic.countEnded({ tokens, costNanos, firstByteMs });
    this.#keys.countSpent(request.keyId, costNanos, Math.floor(nowMs / 1000));
    if (end.served !== undefined && firstByteMs !== undefined)
      this.#firstBytes.record(end.served.upstream, firstByteMs, Math.floor(nowMs / 1000));
    if (isErrorOutcome(outcome)) this.#traffic.countError(outcome);
    // A copy, since the request itself retains the whole body.
    const { id, keyId, groups, model, stream, admittedAtMs } = request;
    const facts = { id, keyId, model, stream, admittedAtMs };
    // The clock may have been set back.
    const durationMs = Math.max(0, nowMs - admittedAtMs);
    this.#counter?.countEnd({ ...end, keyId, groups, model: end.served?.model ?? model, durationMs });
    this.#remember({
      endedAtMs: nowMs,
      row: () => ({
        ...rowOf(facts, end, end.served, end.spentBy),
        ended_at_ms: nowMs,
        outcome,
        ...(failure && { failure }),
      }),
    });
  }

  /** Counts an attempt. `failure`: the failure if the upstream caused one, otherwise undefined. */
  countAttempt(upstream: string, failure: AttemptFailure | undefined): void {
    const result = failure === undefined ? 'ok' : 'failed';
    this.#asked.add(upstream);
    this.#traffic.countAttempt(upstream, result);
    this.#counter?.countAttempt(upstream, result);
    if (failure === undefined) return;
    const causes = this.#failures.get(upstream) ?? new FailureCauses();
    this.#failures.set(upstream, causes);
    causes.count(failure, Date.now());
  }

  /** Counts a cached response, with the cost of the original one. */
  countCached(model: string, savedNanos: Nanos): void {
    this.#counter?.countCached(model, savedNanos);
  }

  refuse({ id, keyId, model, code, reason, cause, level, spentBy }: RefusedRequest): void {
    const nowMs = Date.now();
    const { user = '', app = '' } = spentBy ?? {};
    this.#refusals.add({ id, at_ms: nowMs, key_id: keyId, model, code, reason, cause, user, app });
    this.#traffic.countError(code);
    this.#keys.countRefused(keyId, Math.floor(nowMs / 1000));
    this.#counter?.countRefusal(code, reason, keyId, level);
    const unused = { stream: false, prompt_tokens: 0, completion_tokens: 0, cost_usd: formatUsd(0n) };
    const times = { admitted_at_ms: nowMs, ended_at_ms: nowMs };
    const named = { ...unused, ...namesOf(spentBy), ...times };
    const row = () => ({ id, key_id: keyId, model, provider: '', ...named, outcome: code, refusal: cause });
    this.#remember({ endedAtMs: nowMs, row });
  }

  /** Aborts a request in flight. False if no request in flight has this id. */
  stop(id: string): boolean {
    const request = this.#live.members().find((live) => live.id === id);
    request?.stop();
    return request !== undefined;
  }

  refusals(query: RefusalQuery): RefusalPage {
    return this.#refusals.page(query);
  }

  refusedMinutes(keyId: string): readonly RefusedMinutes[] {
    return this.#refusals.minutesOf(keyId, Date.now());
  }

  snapshot(query: WorkerQuery): WorkerSnapshot {
    const { keyIds, sinceS, minutesSinceS, endedSinceMs, maxLive, maxEnded, firstByteSteps, withTally } = query;
    const live = this.#live.members().sort((a, b) => a.admittedAtMs - b.admittedAtMs);
    const recent = this.#ended.slice(Math.max(0, this.#ended.length - maxEnded));
    return {
      inFlight: this.#sources.inFlight(),
      loopDelay: this.#sources.loopDelay(),
      seconds: this.#traffic.since(sinceS),
      minutes: this.#traffic.minutesSince(minutesSinceS),
      keys: this.#keys.report(keyIds, Math.floor(Date.now() / 1000)),
      live: live
        .slice(0, maxLive)
        .map((request) => rowOf(request, request.figures(), request.served(), request.spentBy())),
      recent: recent.filter(({ endedAtMs }) => endedAtMs >= endedSinceMs).map(({ row }) => row()),
      upstreams: this.#health(firstByteSteps),
      ...(withTally && this.#counter && { tally: { ...this.#counter.tally, slots: this.#live.size } }),
    };
  }

  #health(firstByteSteps: number): UpstreamHealth[] {
    const inFlight = new Map<string, number>();
    for (const request of this.#live.members()) {
      const name = request.served()?.upstream;
      if (name !== undefined) inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
    }
    const nowMs = Date.now();
    const nowS = Math.floor(nowMs / 1000);
    const attempts = this.#traffic.attemptsSince(nowS - HEALTH_S);
    const firstBytes = (name: string) => {
      const steps = this.#firstBytes.last(name, firstByteSteps, nowS);
      return steps.length > 0 && { first_bytes: steps };
    };
    return this.#sources.upstreams().map(({ provider, name, state }) => ({
      provider,
      upstream: name,
      state,
      in_flight: inFlight.get(name) ?? 0,
      requests: attempts.get(name)?.requests ?? 0,
      failures: attempts.get(name)?.failures ?? 0,
      ...(!this.#asked.has(name) && { unasked: true }),
      last_failure: this.#failures.get(name)?.last ?? null,
      causes: this.#failures.get(name)?.all(nowMs) ?? [],
      ...firstBytes(name),
    }));
  }

  #remember(request: EndedRequest): void {
    this.#ended.push(request);
    if (this.#ended.length > MAX_ENDED) this.#ended.shift();
  }
}

/** Only the names that a request has. */
function namesOf({ user = '', app = '' }: Partial<SpentBy> = {}): Pick<RequestRow, 'user' | 'app'> {
  return { ...(user !== '' && { user }), ...(app !== '' && { app }) };
}

function rowOf(
  request: RequestFacts,
  { usage, source, costNanos, firstByteMs }: LiveFigures,
  served: Served | undefined,
  spentBy: SpentBy | undefined,
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
    ...namesOf(spentBy),
    admitted_at_ms: request.admittedAtMs,
    source,
    ...(firstByteMs !== undefined && { first_byte_ms: firstByteMs }),
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: formatUsd(costNanos),
  };
}
