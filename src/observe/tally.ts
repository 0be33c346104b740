/** The counts of one worker since its start, for metrics. Counts only grow, and their labels are bounded. */
import { type DurationCounts, noDurations, REQUEST_BOUNDS, recordDuration } from '../core/durations.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Nanos } from '../core/money.ts';
import type { Outcome } from '../core/settlement.ts';
import { cacheWritesOf, type TokenUsage } from '../core/usage.ts';

/** The number of models with separate counts. Reloads can add any number of models. */
const MAX_MODELS = 1_000;
/** The number of keys with separate counts. */
const MAX_KEYS = 10_000;
/** The number of groups with separate counts. */
const MAX_GROUPS = 1_000;
/** The name for models, keys and groups beyond these bounds. It cannot clash: the names of groups begin with `@`. */
export const OTHERS = 'other';

/** Each token of a request is of exactly one kind. */
export const TOKEN_KINDS = ['input', 'cached_input', 'cache_write', 'output'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** The ended requests of one model. */
export interface ModelTally {
  readonly outcomes: Map<Outcome, { requests: number; costNanos: Nanos }>;
  readonly tokens: Record<TokenKind, number>;
  readonly firstByte: DurationCounts;
  /** From admission to settlement. */
  readonly duration: DurationCounts;
  /** The requests answered from the cache, and the cost of their original responses. */
  cacheHits: number;
  cacheSavedNanos: Nanos;
}

/** The requests of one key, or of the keys in a group. */
export interface KeyTally {
  requests: number;
  tokens: number;
  costNanos: Nanos;
  refusals: number;
}

/** Can be sent to other threads and processes. */
export interface Tally {
  /** Unsettled admitted requests. Only this figure can fall. */
  slots: number;
  /** By the model that served, or would have served. */
  readonly models: Map<string, ModelTally>;
  /** By the id of the key. */
  readonly keys: Map<string, KeyTally>;
  /** By the name of the group, as in commands. */
  readonly groups: Map<string, KeyTally>;
  /** By the client's error code, the reason, and the kind of the refusing level, separated by blanks. */
  readonly refusals: Map<string, number>;
  /** Connections and requests rejected under overload, by the exhausted resource. */
  readonly overload: Map<string, number>;
  /** Responses under /v1, by status. */
  readonly responses: Map<number, number>;
  /** By upstream. */
  readonly attempts: Map<string, { ok: number; failed: number }>;
}

/** A settled request. */
export interface CountedEnd {
  readonly model: string;
  readonly keyId: string;
  /** The groups to which it is booked. */
  readonly groups?: readonly string[] | undefined;
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
}

/** The kind of the level that refuses a request, if it is not the key itself: a group, a parent key or an end user. */
export interface RefusingLevel {
  readonly kind: 'key' | 'group' | 'user';
  readonly name: string;
}

function emptyTally(): Tally {
  return {
    slots: 0,
    models: new Map(),
    keys: new Map(),
    groups: new Map(),
    refusals: new Map(),
    overload: new Map(),
    responses: new Map(),
    attempts: new Map(),
  };
}

export class TallyCounter {
  readonly tally: Tally = emptyTally();

  countEnd({ model, keyId, groups = [], outcome, usage, costNanos, firstByteMs, durationMs }: CountedEnd): void {
    const counts = entry(this.tally.models, model, MAX_MODELS, emptyModel);
    const ended = entry(counts.outcomes, outcome, Number.POSITIVE_INFINITY, () => ({ requests: 0, costNanos: 0n }));
    ended.requests++;
    ended.costNanos += costNanos;
    countTokens(counts.tokens, usage);
    if (firstByteMs !== undefined) recordDuration(counts.firstByte, REQUEST_BOUNDS, firstByteMs);
    recordDuration(counts.duration, REQUEST_BOUNDS, durationMs);
    for (const counted of [this.#key(keyId), ...groups.map((name) => this.#group(name))]) {
      counted.requests++;
      counted.tokens += usage.promptTokens + usage.completionTokens;
      counted.costNanos += costNanos;
    }
  }

  countCached(model: string, savedNanos: Nanos): void {
    const counts = entry(this.tally.models, model, MAX_MODELS, emptyModel);
    counts.cacheHits++;
    counts.cacheSavedNanos += savedNanos;
  }

  /** `keyId` is undefined for a request without a valid key. */
  countRefusal(code: ErrorCode, reason: string, keyId: string | undefined, level?: RefusingLevel): void {
    increase(this.tally.refusals, `${code} ${reason} ${level?.kind ?? ''}`, 1);
    if (keyId !== undefined) this.#key(keyId).refusals++;
    if (level?.kind === 'group') this.#group(level.name).refusals++;
  }

  countOverload(cause: string, refused: number): void {
    increase(this.tally.overload, cause, refused);
  }

  countResponse(status: number): void {
    increase(this.tally.responses, status, 1);
  }

  countAttempt(upstream: string, result: 'ok' | 'failed'): void {
    entry(this.tally.attempts, upstream, MAX_MODELS, () => ({ ok: 0, failed: 0 }))[result]++;
  }

  #key(keyId: string): KeyTally {
    return entry(this.tally.keys, keyId, MAX_KEYS, emptyKey);
  }

  #group(name: string): KeyTally {
    return entry(this.tally.groups, `@${name}`, MAX_GROUPS, emptyKey);
  }
}

/** The counts of a name, or of all others beyond the bound. */
function entry<Name, Counts>(
  map: Map<Name | typeof OTHERS, Counts>,
  name: Name,
  most: number,
  make: () => Counts,
): Counts {
  const known = map.get(name);
  if (known !== undefined) return known;
  if (map.size >= most) {
    const others = map.get(OTHERS) ?? make();
    map.set(OTHERS, others);
    return others;
  }
  const counts = make();
  map.set(name, counts);
  return counts;
}

function increase<Name>(map: Map<Name, number>, name: Name, by: number): void {
  map.set(name, (map.get(name) ?? 0) + by);
}

function emptyKey(): KeyTally {
  return { requests: 0, tokens: 0, costNanos: 0n, refusals: 0 };
}

function emptyModel(): ModelTally {
  return {
    outcomes: new Map(),
    tokens: { input: 0, cached_input: 0, cache_write: 0, output: 0 },
    firstByte: noDurations(REQUEST_BOUNDS),
    duration: noDurations(REQUEST_BOUNDS),
    cacheHits: 0,
    cacheSavedNanos: 0n,
  };
}

function countTokens(tokens: Record<TokenKind, number>, usage: TokenUsage): void {
  const { promptTokens, cachedTokens, completionTokens } = usage;
  const written = cacheWritesOf(usage);
  // The figures of hosts need not be consistent, and a counter must not fall.
  tokens.input += Math.max(0, promptTokens - cachedTokens - written);
  tokens.cached_input += cachedTokens;
  tokens.cache_write += written;
  tokens.output += completionTokens;
}
