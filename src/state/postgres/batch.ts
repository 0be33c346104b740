/** The arguments of a batch as the database takes them, and what it decides: arrays, one for each column. */

import type { BudgetSpend } from '../../core/budgets.ts';
import { sortedBudgets } from '../../core/budgets.ts';

/** Settlements of open requests. */
export interface SettlementColumns {
  readonly id: string[];
  readonly outcome: string[];
  readonly source: string[];
  /** The model that served; null for the one that was asked for. */
  readonly model: (string | null)[];
  readonly promptTokens: number[];
  readonly cachedTokens: number[];
  readonly cacheWriteTokens: number[];
  readonly completionTokens: number[];
  readonly costNanos: bigint[];
  readonly completionId: (string | null)[];
  readonly firstByteMs: (number | null)[];
  readonly upstream: (string | null)[];
  readonly attempts: (number | null)[];
  readonly failureReason: (string | null)[];
  readonly failureStatus: (number | null)[];
  readonly failureMessage: (string | null)[];
  /** Null for that of the hold. */
  readonly price: (string | null)[];
}

/** Who settled requests were for: those that say so. */
export interface NameColumns {
  readonly id: string[];
  readonly admittedAtMs: number[];
  readonly user: string[];
  readonly tag: string[];
  readonly app: string[];
}

/** `key` is the position of the key among those of the batch, from 1. */
export interface GrowthColumns {
  readonly id: string[];
  readonly key: number[];
  readonly outputTokens: number[];
  readonly holdNanos: bigint[];
}

/** 0 asks for an admission, 1 for one to the list of models, 2 whether a request could be admitted. */
export type AskKind = 0 | 1 | 2;

export interface AskColumns {
  readonly kind: AskKind[];
  readonly id: string[];
  readonly key: number[];
  /** Null asks for no model in particular. */
  readonly model: (string | null)[];
  readonly reservedTokens: number[];
  readonly inputTokens: number[];
  readonly outputTokens: number[];
  readonly holdNanos: bigint[];
  readonly price: (string | null)[];
}

export interface Batch {
  /** The ids of the keys, sorted. */
  readonly keys: readonly string[];
  readonly settlements: SettlementColumns;
  readonly names: NameColumns;
  readonly freed: string[];
  readonly growths: GrowthColumns;
  readonly asks: AskColumns;
  /** Whether names and allowlists of the keys are wanted. */
  readonly details: boolean;
}

/** Limits of keys that have none of their own. */
export interface BatchSettings {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly modelsRpm: number;
  readonly creditEnforced: boolean;
}

/** A key after the batch. */
export interface DecidedKey {
  readonly name: string | undefined;
  readonly state: string;
  readonly allowlist: readonly string[] | null;
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly spendLimitNanos: bigint | null;
  readonly chargedNanos: bigint;
  readonly budgets: readonly BudgetSpend[];
  readonly expiresAtMs: number | null;
  readonly slots: number;
  readonly used: Used;
}

/** What is used of the windows, and the seconds until they are empty. */
export interface Used {
  readonly requests: number;
  readonly tokens: number;
  readonly resetRequestsS: number;
  readonly resetTokensS: number;
}

export interface DecidedAsk {
  /** As `decide_batch` says; 0 is admitted. */
  readonly code: number;
  readonly retryAfterS: number;
  readonly used: Used;
}

export interface DecidedGrowth {
  readonly code: number;
  /** Undefined if the request is not open any more. */
  readonly holdNanos: bigint | undefined;
  /** The limits that leave nothing, where it is refused. */
  readonly reached: ReachedLimits | undefined;
}

/** For a request that was admitted then: whether that of the month leaves nothing, and which budgets do. */
export interface ReachedLimits {
  readonly admittedAtMs: number;
  readonly month: boolean;
  readonly budgets: readonly {
    readonly period: string;
    readonly limitNanos: bigint;
    readonly freesAtMs: number | null;
  }[];
}

export interface Decided {
  /** The time of the decision, in microseconds since 1970. */
  readonly atUs: bigint;
  readonly balanceNanos: bigint;
  /** The settlements that ended a request. The others found no hold. */
  readonly ended: ReadonlySet<string>;
  readonly keys: readonly DecidedKey[];
  readonly growths: readonly DecidedGrowth[];
  readonly asks: readonly DecidedAsk[];
}

/** A batch without commands. The columns are in the order of `decide_batch`'s arguments. */
export function emptyBatch(keys: readonly string[], details: boolean): Batch {
  return {
    keys,
    settlements: {
      id: [],
      outcome: [],
      source: [],
      model: [],
      promptTokens: [],
      cachedTokens: [],
      cacheWriteTokens: [],
      completionTokens: [],
      costNanos: [],
      completionId: [],
      firstByteMs: [],
      upstream: [],
      attempts: [],
      failureReason: [],
      failureStatus: [],
      failureMessage: [],
      price: [],
    },
    names: { id: [], admittedAtMs: [], user: [], tag: [], app: [] },
    freed: [],
    growths: { id: [], key: [], outputTokens: [], holdNanos: [] },
    asks: {
      kind: [],
      id: [],
      key: [],
      model: [],
      reservedTokens: [],
      inputTokens: [],
      outputTokens: [],
      holdNanos: [],
      price: [],
    },
    details,
  };
}

/** What a batch that names no key decides. */
export const NOTHING_DECIDED: Decided = {
  atUs: 0n,
  balanceNanos: 0n,
  ended: new Set(),
  keys: [],
  growths: [],
  asks: [],
};

/** The arguments of `decide_batch` after the node's, in their order. */
export function argumentsOf(batch: Batch, settings: BatchSettings): unknown[] {
  const { settlements, growths, asks } = batch;
  return [
    settings.rpm,
    settings.tpm,
    settings.concurrency,
    settings.modelsRpm,
    settings.creditEnforced,
    batch.details,
    batch.keys,
    ...Object.values(settlements),
    batch.freed,
    ...Object.values(growths),
    ...Object.values(asks),
  ];
}

/** The arguments of `enter_names` after the requests that have ended, in their order; none if no request has a name. */
export function nameArgumentsOf({ names }: Batch): unknown[] {
  return names.id.length === 0 ? [] : Object.values(names);
}

/** A budget of the key at position `k`. Amounts are text, times milliseconds since 1970. */
interface BudgetRow {
  readonly k: number;
  readonly period: string;
  readonly limit: string;
  readonly charged: string;
  readonly frees: number | null;
  readonly resets: number | null;
}

/** The row that `decide_batch` returns: bigints come as text, in arrays too. */
export interface DecidedRow {
  readonly o_us: string;
  readonly o_balance: string;
  readonly o_ended: string[];
  readonly k_state: string[];
  readonly k_name: string[] | null;
  readonly k_allowlist: (string | null)[] | null;
  readonly k_rpm: string[];
  readonly k_tpm: string[];
  readonly k_concurrency: string[];
  readonly k_spend_limit: (string | null)[];
  readonly k_expires: (string | null)[];
  /** Null where no key of the batch has any, or nobody asks. */
  readonly o_budgets: readonly BudgetRow[] | null;
  readonly k_charged: string[];
  readonly k_slots: string[];
  readonly k_requests: string[];
  readonly k_tokens: string[];
  readonly k_reset_requests: string[];
  readonly k_reset_tokens: string[];
  readonly g_code: number[];
  readonly g_granted: (string | null)[];
  /** As JSON. */
  readonly g_reached: (string | null)[];
  readonly a_code: number[];
  readonly a_wait: string[];
  readonly a_requests: string[];
  readonly a_tokens: string[];
  readonly a_reset_requests: string[];
  readonly a_reset_tokens: string[];
}

export function decidedOf(row: DecidedRow): Decided {
  return {
    atUs: BigInt(row.o_us),
    balanceNanos: BigInt(row.o_balance),
    ended: new Set(row.o_ended),
    keys: row.k_state.map((state, i) => keyOf(row, i, state)),
    growths: row.g_code.map((code, i) => {
      const granted = row.g_granted[i];
      const reached = row.g_reached[i];
      return {
        code,
        holdNanos: granted == null ? undefined : BigInt(granted),
        reached: reached == null ? undefined : reachedOf(reached),
      };
    }),
    asks: row.a_code.map((code, i) => ({
      code,
      retryAfterS: Number(row.a_wait[i]),
      used: {
        requests: Number(row.a_requests[i]),
        tokens: Number(row.a_tokens[i]),
        resetRequestsS: Number(row.a_reset_requests[i]),
        resetTokensS: Number(row.a_reset_tokens[i]),
      },
    })),
  };
}

function reachedOf(json: string): ReachedLimits {
  const { admitted, month, budgets } = JSON.parse(json) as {
    admitted: number;
    month: boolean;
    budgets: Pick<BudgetRow, 'period' | 'limit' | 'frees'>[];
  };
  const limits = budgets.map(({ period, limit, frees }) => ({ period, limitNanos: BigInt(limit), freesAtMs: frees }));
  return { admittedAtMs: admitted, month, budgets: sortedBudgets(limits) };
}

function budgetsOf({ o_budgets: rows }: DecidedRow, i: number): readonly BudgetSpend[] {
  if (rows === null) return [];
  return sortedBudgets(rows.filter(({ k }) => k === i + 1).map(spendOf));
}

function spendOf({ period, limit, charged, frees, resets }: BudgetRow): BudgetSpend {
  const nanos = { limitNanos: BigInt(limit), chargedNanos: BigInt(charged) };
  return { period, ...nanos, freesAtMs: frees, resetsAtMs: resets };
}

function keyOf(row: DecidedRow, i: number, state: string): DecidedKey {
  const spendLimit = row.k_spend_limit[i];
  const allowlist = row.k_allowlist?.[i];
  const expires = row.k_expires[i];
  return {
    name: row.k_name?.[i],
    state,
    allowlist: allowlist == null ? null : (JSON.parse(allowlist) as string[]),
    rpm: Number(row.k_rpm[i]),
    tpm: Number(row.k_tpm[i]),
    concurrency: Number(row.k_concurrency[i]),
    spendLimitNanos: spendLimit == null ? null : BigInt(spendLimit),
    chargedNanos: BigInt(row.k_charged[i] as string),
    budgets: budgetsOf(row, i),
    expiresAtMs: expires == null ? null : Number(expires),
    slots: Number(row.k_slots[i]),
    used: {
      requests: Number(row.k_requests[i]),
      tokens: Number(row.k_tokens[i]),
      resetRequestsS: Number(row.k_reset_requests[i]),
      resetTokensS: Number(row.k_reset_tokens[i]),
    },
  };
}
