/** Input of the judge: figures from the state, and observations of the gateway's threads. */
import type { BudgetSpend } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import type { CreditForecast } from '../operator/forecast.ts';

/** A key or group with its spending per budget, including the monthly limit. */
export interface OwnerMoney {
  readonly kind: 'key' | 'group';
  readonly id: string;
  readonly name: string;
  readonly budgets: readonly BudgetSpend[];
}

export interface AccountMoney {
  /** Changes whenever credit is added or removed. */
  readonly entry: string;
  /** The balance after the last credit entry, and the current balance. */
  readonly creditNanos: Nanos;
  readonly balanceNanos: Nanos;
  readonly forecast: CreditForecast | undefined;
}

export interface Money {
  readonly owners: readonly OwnerMoney[];
  /** Undefined if credit is not enforced or was never added. */
  readonly account: AccountMoney | undefined;
}

/** State of an upstream, as observed by one gateway. */
export interface ObservedUpstream {
  readonly upstream: string;
  readonly provider: string;
  readonly isOpen: boolean;
  /** Attempts in the last minute. */
  readonly requests: number;
  readonly failures: number;
  /** Attempts in the last {@link RECENT_S} seconds. */
  readonly recentRequests: number;
  readonly recentFailures: number;
  /** The message of its last failure. */
  readonly cause: string | undefined;
}

/** An upstream is up again after this time without failures, in seconds. */
export const RECENT_S = 15;

export const MONEY_CODES = ['insufficient_credit', 'spend_limit_reached'] as const;
export type MoneyCode = (typeof MONEY_CODES)[number];

/** Requests refused for money since the last observation. */
export interface RefusedForMoney {
  readonly code: MoneyCode;
  /** The key of the latest refusal, if known. */
  readonly keyId: string | undefined;
  readonly requests: number;
}

/** Observations of the gateway's threads. */
export interface Observation {
  readonly upstreams: readonly ObservedUpstream[];
  readonly refused: readonly RefusedForMoney[];
  /** The reason why the state cannot be written; undefined while it can. */
  readonly storageFault: string | undefined;
}
