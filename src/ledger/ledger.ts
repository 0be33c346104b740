/** The ledger's interface: every decision about keys, limits and money. */
import type { BudgetSpend } from '../core/budgets.ts';
import type { LedgerTimes } from '../core/durations.ts';
import type { Limits, RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { PostgresAddress } from '../core/postgres-address.ts';
import type { Durability } from '../core/settings.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';
import type { LevelName } from '../state/levels.ts';
import type { KeyActivity } from '../state/nodes.ts';
import type { RequestWindow } from './figures.ts';

/** Settings that can change while the ledger runs. The limits are the defaults for keys without their own. */
export interface LedgerSettings extends Limits {
  readonly creditEnforced: boolean;
  /** Retention of journal rows; undefined to keep them for ever. */
  readonly journalRetentionMs: number | undefined;
}

/** The identity of a gateway that shares its state with others. */
export interface NodeIdentity {
  readonly name: string;
  readonly version: string;
  /** The listen address, shown to operators. */
  readonly address: string;
}

/** The location of the state. In a shared state, gateways have names. */
export type LedgerState =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress; readonly node: NodeIdentity };

export interface LedgerOptions extends LedgerSettings {
  readonly state: LedgerState;
  /** `full`: a commit survives a power failure; `crash`: only the end of the process. */
  readonly durability: Durability;
  /** Histograms for the durations of batches and flushes; undefined if no metrics are collected. */
  readonly times?: LedgerTimes | undefined;
}

/** The start parameters of the ledger thread. */
export interface LedgerStart {
  readonly options: LedgerOptions;
  /** Whether it preloads modules before the call to open the state. */
  readonly isAhead: boolean;
}

/** The client of a request, looked up by the hash of its key. */
export type Identity =
  | { readonly kind: 'unknown'; readonly figures: RateFigures }
  | ({ readonly kind: 'disabled'; readonly keyId: string; readonly figures: RateFigures } & AtLevel)
  | EnabledKey;

export interface EnabledKey {
  readonly kind: 'enabled';
  readonly keyId: string;
  readonly allowlist: readonly string[] | null;
  readonly concurrency: number;
  /** Whether `run` created the key, so that output is capped. Never changes. */
  readonly isLeashed: boolean;
  /** Whether requests must name their end user. */
  readonly requiresUser: boolean;
  /** Number of free slots. */
  readonly freeSlots: number;
  /** The refusal that any request would get now, however small: for priced models, and for free ones. */
  readonly refusal: Refusal | undefined;
  readonly refusalIfFree: Refusal | undefined;
  readonly figures: RateFigures;
}

/** A request for admission. */
export interface AdmissionRequest {
  readonly requestId: string;
  readonly keyHash: string;
  /** `<provider>/<model>`, as the client named it. */
  readonly model: string;
  /** Tokens to reserve in the window: the estimated input, plus the output if declared. */
  readonly reservedTokens: number;
  /** The token counts that the hold was computed from. After a crash, the request is charged for these. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  /** The price used for the hold, for the journal. */
  readonly price?: string | undefined;
  /** Whether the answer is streamed. Its first bytes precede the settlement by far, so the hold is flushed at once. */
  readonly stream?: boolean;
  /** Fallback models. The admission returns the allowed ones. */
  readonly fallbacks?: readonly string[];
  /** The end user named by the app: valid Unicode, compared byte for byte. Undefined if not named. */
  readonly user?: string | undefined;
}

/** The reasons to refuse a request, one per precondition, in the order of the checks. */
export type Refusal =
  | { readonly reason: 'unknown_key' }
  | ({ readonly reason: 'key_disabled' } & AtLevel)
  | ({ readonly reason: 'model_not_allowed' } & AtLevel)
  /** The key, or one of its groups, requires requests to name their end user. */
  | ({ readonly reason: 'user_required' } & AtLevel)
  | SpendRefusal
  | CreditRefusal
  | ({ readonly reason: 'larger_than_token_limit'; readonly limit: number } & AtLevel)
  | ({ readonly reason: 'requests_per_minute'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'tokens_per_minute'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'concurrency'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'money_spoken_for'; readonly retryAfterS: number } & AtLevel);

/** The level that a limit belongs to. */
export interface AtLevel {
  /** Absent for the request's own key. For an end user, contains the name of the key or group that limits its users. */
  readonly level?: LevelName;
}

/** The balance does not cover the hold of a request. */
export interface CreditRefusal {
  readonly reason: 'insufficient_credit';
  readonly keyName: string;
  readonly balanceNanos: Nanos;
}

/** A spend limit is reached. If several are, this is the one that frees last. */
export interface SpendRefusal extends AtLevel {
  readonly reason: 'spend_limit_reached';
  /** The name of the request's key, whichever level the limit belongs to. */
  readonly keyName: string;
  readonly limitNanos: Nanos;
  /** Absent for the monthly limit. */
  readonly budget?: {
    readonly period: string;
    /** The time at which spending drops below the limit if no more is charged; null for never. */
    readonly freesAtMs: number | null;
  };
}

/** An operator's question whether requests of a key would be admitted now. Takes no resources. */
export interface AdmissionQuestion {
  readonly keyId: string;
  readonly requests: readonly AdmissionRequest[];
}

/** The state of one level that admission depends on. Limits are infinite if not set. */
export interface LevelStanding {
  readonly name: string;
  readonly isDisabled: boolean;
  readonly allowlist: readonly string[] | null;
  readonly limits: Pick<Limits, 'rpm' | 'tpm' | 'concurrency'>;
  /** In the last 60 seconds. */
  readonly requests: number;
  /** In the last 60 seconds, plus tokens reserved by open requests. */
  readonly tokens: number;
  readonly slots: number;
  readonly spendLimitNanos: Nanos | null;
  /** Charges of this month, and the holds of open requests admitted in it. */
  readonly chargedNanos: Nanos;
  readonly heldOfKeyNanos: Nanos;
  readonly budgets: readonly BudgetSpend[];
}

/** The state that admission depends on, at one moment. */
export interface KeyStanding extends LevelStanding {
  readonly keyId: string;
  /** Whether `run` created the key. */
  readonly isLeashed: boolean;
  /** The models allowed by all levels; null for every model. */
  readonly callable: readonly string[] | null;
  /** The outer levels of the key, innermost first. End users are taken from the first request. */
  readonly outer: readonly (LevelStanding & LevelName)[];
  readonly balanceNanos: Nanos;
  /** Holds of the open requests of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
}

export type AdmissionForecast =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'known';
      readonly standing: KeyStanding;
      /** The refusal of each request; null if it would be admitted. */
      readonly refusals: readonly (Refusal | null)[];
    };

/** A request of a stream to enlarge its hold. Amounts are totals. */
export interface Growth {
  readonly requestId: string;
  /** Output tokens to be covered by the hold. */
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
}

/** The answer to a growth. */
export type Grant =
  /**
   * The new hold: the requested one, or as much as balance, spend limits and budgets allow. `leftNanos`: the amount
   * that they leave beyond it; undefined without any limit.
   */
  | { readonly granted: true; readonly holdNanos: Nanos; readonly leftNanos?: Nanos | undefined }
  /** No money is left; the hold is unchanged. */
  | { readonly granted: false; readonly refusal: MoneyRefusal };

/** Refusals that a retry cannot resolve. */
export type MoneyRefusal = SpendRefusal | CreditRefusal;

export type Admission =
  | {
      readonly admitted: true;
      readonly figures: RateFigures;
      readonly fallbacks?: readonly string[];
      /** The names of its groups, innermost first; absent without groups. */
      readonly groups?: readonly string[];
    }
  | { readonly admitted: false; readonly refusal: Refusal; readonly figures: RateFigures };

/** The state of the ledger at its start. */
export interface LedgerSummary {
  readonly created: boolean;
  readonly balanceNanos: Nanos;
  readonly keys: number;
  /** Requests left open by a crash and now charged as held. */
  readonly recoveredHolds: number;
}

/** Thrown when the ledger cannot write. Admission is closed. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable';
}

/**
 * The ledger as seen by a request. A promise resolves after the decision is committed, and so safe from the end of the
 * process. Settlements and growths are then also flushed, and so safe from a power failure. All promises reject with
 * LedgerUnavailable.
 */
export interface Ledger {
  /** The reason why the state cannot be written; undefined while it can. */
  readonly storageFault: string | undefined;
  /** Returns the limits and the state of the key with this hash, with the figures of a window. Takes no resources. */
  identify(keyHash: string, window?: RequestWindow): Promise<Identity>;
  /**
   * Admits a request for the list of models, which has its own window. With an id: admits a token count in the same
   * window, which also takes a slot until `endCount`. All or nothing.
   */
  admitListing(keyHash: string, countId?: string): Promise<ListingAdmission>;
  /** Frees the slot of an admitted token count. While the state cannot be written, the promise stays pending. */
  endCount(countId: string): Promise<void>;
  /** Returns the answer that `admit` would give. Takes no resources. */
  forecast(question: AdmissionQuestion): Promise<AdmissionForecast>;
  /** Admits a request or refuses it. A refused request takes no window entry, slot or money. */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** The number of the last commit that answered this thread. */
  readonly commit: number;
  /**
   * Requests a flush of a commit and resolves when it is done; returns undefined if it already is. The client may
   * receive no byte of an answer before the admission is flushed.
   */
  flushed(commit: number): Promise<void> | undefined;
  /**
   * Ends an admitted request: charges it, and releases its slot and hold. While the state cannot be written, the
   * promise stays pending.
   */
  settle(settlement: Settlement): Promise<RateFigures>;
  /** Enlarges the hold of an open request. While the state cannot be written, the promise stays pending. */
  grow(growth: Growth): Promise<Grant>;
  /** Frees only the slot of an open request; its hold remains. */
  freeSlot(requestId: string): void;
  /** Counts a refusal for statistics. Written with a short delay, so a crash may lose the last ones. */
  countRefusal(refusal: CountedRefusal): void;
}

/** The account and the keys at one moment. */
export interface LedgerSnapshot {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** The busiest keys by requests in the last minute, busiest first. */
  readonly busiest: readonly KeyActivity[];
  /** The requested keys, except keys unused since the start. */
  readonly keys: readonly KeyActivity[];
}

/** The ledger with the additional calls of the main thread. */
export interface LedgerControl extends Ledger {
  /** Takes effect with the next decision. */
  configure(settings: LedgerSettings): Promise<void>;
  snapshot(keyIds: readonly string[]): Promise<LedgerSnapshot>;
}

/** The data that a key may read about itself. */
export interface KeyAccount {
  readonly name: string;
  readonly spendLimitNanos: Nanos | null;
  /** Charges of this month. */
  readonly chargedNanos: Nanos;
  readonly budgets: readonly BudgetSpend[];
  /** Null for never. */
  readonly expiresAtMs: number | null;
  /** The figures of its request and token windows. */
  readonly requests: RateFigures;
  /** Number of free slots. */
  readonly freeSlots: number;
  /** The outer levels, innermost first. */
  readonly outer: readonly LevelAccount[];
}

/** The data that a key may read about an outer level. Limits are infinite if not set. */
export interface LevelAccount extends LevelName {
  readonly spendLimitNanos: Nanos | null;
  readonly chargedNanos: Nanos;
  readonly budgets: readonly BudgetSpend[];
  readonly requests: RateFigures;
  readonly concurrency: number;
  readonly freeSlots: number;
}

export type ListingAdmission =
  | { readonly kind: 'unknown'; readonly figures: RateFigures }
  | ({ readonly kind: 'disabled'; readonly keyId: string; readonly figures: RateFigures } & AtLevel)
  | {
      readonly kind: 'limited';
      readonly keyId: string;
      readonly retryAfterS: number;
      readonly limit: number;
      readonly figures: RateFigures;
    }
  /** A token count finds no free slot. The figures describe the request window. */
  | { readonly kind: 'busy'; readonly keyId: string; readonly limit: number; readonly figures: RateFigures }
  | {
      readonly kind: 'admitted';
      readonly keyId: string;
      readonly concurrency: number;
      readonly account: KeyAccount;
      readonly allowlist: readonly string[] | null;
      readonly figures: RateFigures;
    };
