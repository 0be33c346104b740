/** What the database decides of a batch, read from the columns that it answers with. */
import { type BudgetSpend, sortedBudgets } from '../../core/budgets.ts';

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

/** What a batch that names no key decides. */
export const NOTHING_DECIDED: Decided = {
  atUs: 0n,
  balanceNanos: 0n,
  ended: new Set(),
  keys: [],
  growths: [],
  asks: [],
};

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
