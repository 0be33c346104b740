/** What alerts are judged by: figures of the state, and what the threads of a gateway see. */
import type { BudgetSpend } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import type { CreditForecast } from '../operator/forecast.ts';

/** A key or a group, and what it has spent of each of its budgets; the limit of the month is one of them. */
export interface OwnerMoney {
  readonly kind: 'key' | 'group';
  readonly id: string;
  readonly name: string;
  readonly budgets: readonly BudgetSpend[];
}

export interface AccountMoney {
  /** Changes whenever credit is added or removed. */
  readonly entry: string;
  /** The balance after the last credit entry, and what is left of it. */
  readonly creditNanos: Nanos;
  readonly balanceNanos: Nanos;
  readonly forecast: CreditForecast | undefined;
}

export interface Money {
  readonly owners: readonly OwnerMoney[];
  /** Undefined where credit is not enforced, or was never added. */
  readonly account: AccountMoney | undefined;
}

/** What a gateway sees of an upstream. */
export interface ObservedUpstream {
  readonly upstream: string;
  readonly provider: string;
  readonly isOpen: boolean;
  /** Attempts in the last minute. */
  readonly requests: number;
  readonly failures: number;
  /** Attempts in the last seconds that {@link RECENT_S} says. */
  readonly recentRequests: number;
  readonly recentFailures: number;
  /** In the words of its last failure. */
  readonly cause: string | undefined;
}

/** An upstream is up again if all went well there for so long, in seconds. */
export const RECENT_S = 15;

export const MONEY_CODES = ['insufficient_credit', 'spend_limit_reached'] as const;
export type MoneyCode = (typeof MONEY_CODES)[number];

/** Requests that were refused for money since the last look. */
export interface RefusedForMoney {
  readonly code: MoneyCode;
  /** The key that was refused last; undefined if that is no longer known. */
  readonly keyId: string | undefined;
  readonly requests: number;
}

/** What the threads of a gateway see. */
export interface Observation {
  readonly upstreams: readonly ObservedUpstream[];
  readonly refused: readonly RefusedForMoney[];
  /** Why the state cannot be written; undefined while it can. */
  readonly storageFault: string | undefined;
}
