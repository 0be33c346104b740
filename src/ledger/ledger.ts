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

/**
 * Settings that can change while the ledger runs. The limits are those of keys that have none of
 * their own.
 */
export interface LedgerSettings extends Limits {
  readonly creditEnforced: boolean;
  /** How long journal rows are kept; undefined for ever. */
  readonly journalRetentionMs: number | undefined;
}

/** A gateway among those that share a state. */
export interface NodeIdentity {
  readonly name: string;
  readonly version: string;
  /** Where it listens, for operators. */
  readonly address: string;
}

/** Where the state is. A shared one knows its gateways by their names. */
export type LedgerState =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress; readonly node: NodeIdentity };

export interface LedgerOptions extends LedgerSettings {
  readonly state: LedgerState;
  /** What a commit survives: `full` a power cut, `crash` only the end of the process. */
  readonly durability: Durability;
  /** Where to count how long batches and flushes take; undefined if nobody asks. */
  readonly times?: LedgerTimes | undefined;
}

/** What the ledger thread is started with. */
export interface LedgerStart {
  readonly options: LedgerOptions;
  /** Whether it loads what it can before it is told to open the state. */
  readonly isAhead: boolean;
}

/** What the ledger knows about a client, by the hash of its key. */
export type Identity =
  | { readonly kind: 'unknown'; readonly figures: RateFigures }
  | ({ readonly kind: 'disabled'; readonly keyId: string; readonly figures: RateFigures } & AtLevel)
  | EnabledKey;

export interface EnabledKey {
  readonly kind: 'enabled';
  readonly keyId: string;
  readonly allowlist: readonly string[] | null;
  readonly concurrency: number;
  /** Whether `run` has made it, so that the output of its requests is capped. Never changes. */
  readonly isLeashed: boolean;
  /** Whether its requests have to name their end user. */
  readonly requiresUser: boolean;
  /** Requests that it may have in flight besides those that are. */
  readonly freeSlots: number;
  /** Why any request would be refused now, however small: if it costs something, and if it is free. */
  readonly refusal: Refusal | undefined;
  readonly refusalIfFree: Refusal | undefined;
  readonly figures: RateFigures;
}

/** What a request needs in order to be admitted. */
export interface AdmissionRequest {
  readonly requestId: string;
  readonly keyHash: string;
  /** `<provider>/<model>`, as the client named it. */
  readonly model: string;
  /** Tokens to reserve in the window: estimated input, and the declared output if there is one. */
  readonly reservedTokens: number;
  /** What the hold was computed from. After a crash the request is charged for these. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  /** The price that the hold was computed by, for the journal. */
  readonly price?: string | undefined;
  /** Whether its answer begins long before its end: then its hold is flushed at once. */
  readonly stream?: boolean;
  /** Fallback models. The admission returns those that the key may call. */
  readonly fallbacks?: readonly string[];
  /** The end user that it is for, as its app says: valid Unicode, compared byte for byte. Undefined where it says nothing. */
  readonly user?: string | undefined;
}

/**
 * Why a request is refused: one reason per precondition, in the order in which they are checked.
 */
export type Refusal =
  | { readonly reason: 'unknown_key' }
  | ({ readonly reason: 'key_disabled' } & AtLevel)
  | ({ readonly reason: 'model_not_allowed' } & AtLevel)
  /** The key, or a group that it is in, wants to know the end user. */
  | ({ readonly reason: 'user_required' } & AtLevel)
  | SpendRefusal
  | CreditRefusal
  | ({ readonly reason: 'larger_than_token_limit'; readonly limit: number } & AtLevel)
  | ({ readonly reason: 'requests_per_minute'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'tokens_per_minute'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'concurrency'; readonly limit: number; readonly retryAfterS: number } & AtLevel)
  | ({ readonly reason: 'money_spoken_for'; readonly retryAfterS: number } & AtLevel);

/** Whose limit it is. */
export interface AtLevel {
  /** Absent for the key of the request itself. Of an end user it names the key or the group whose end user it is. */
  readonly level?: LevelName;
}

/** The balance does not cover the hold of a request. */
export interface CreditRefusal {
  readonly reason: 'insufficient_credit';
  readonly keyName: string;
  readonly balanceNanos: Nanos;
}

/** A limit on spending is reached. Of several it is the one that frees last. */
export interface SpendRefusal extends AtLevel {
  readonly reason: 'spend_limit_reached';
  /** The name of the key of the request, whichever level the limit belongs to. */
  readonly keyName: string;
  readonly limitNanos: Nanos;
  /** Absent for the limit of the month. */
  readonly budget?: {
    readonly period: string;
    /** When it is free again if nothing more is spent; null for never. */
    readonly freesAtMs: number | null;
  };
}

/** What an operator asks: whether requests of a key would be admitted now. Nothing is taken. */
export interface AdmissionQuestion {
  readonly keyId: string;
  readonly requests: readonly AdmissionRequest[];
}

/** What admission decides by of one level, at one moment. Limits are infinite where there are none. */
export interface LevelStanding {
  readonly name: string;
  readonly isDisabled: boolean;
  readonly allowlist: readonly string[] | null;
  readonly limits: Pick<Limits, 'rpm' | 'tpm' | 'concurrency'>;
  /** Of the last 60 seconds. */
  readonly requests: number;
  /** Of the last 60 seconds, and those reserved by open requests. */
  readonly tokens: number;
  readonly slots: number;
  readonly spendLimitNanos: Nanos | null;
  /** This month, and what is held for open requests of this month. */
  readonly chargedNanos: Nanos;
  readonly heldOfKeyNanos: Nanos;
  readonly budgets: readonly BudgetSpend[];
}

/** What admission decides by, at one moment. */
export interface KeyStanding extends LevelStanding {
  readonly keyId: string;
  /** Whether `run` has made it. */
  readonly isLeashed: boolean;
  /** The models that all levels allow; null for every model. */
  readonly callable: readonly string[] | null;
  /** The levels around the key, from inside out; the end users are those of the first request. */
  readonly outer: readonly (LevelStanding & LevelName)[];
  readonly balanceNanos: Nanos;
  /** For open requests of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
}

export type AdmissionForecast =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'known';
      readonly standing: KeyStanding;
      /** For each request why it would be refused; null if it would be admitted. */
      readonly refusals: readonly (Refusal | null)[];
    };

/** What a stream needs beyond its hold, as totals. */
export interface Growth {
  readonly requestId: string;
  /** The output tokens that the hold is to cover. */
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
}

/** What a stream gets. */
export type Grant =
  /**
   * The hold from now on: the one asked for, or as much as balance, spend limits and budgets leave. `leftNanos`: the amount
   * that they leave beyond it; undefined without any of them.
   */
  | { readonly granted: true; readonly holdNanos: Nanos; readonly leftNanos?: Nanos | undefined }
  /** They leave nothing, and the hold stays as it was. */
  | { readonly granted: false; readonly refusal: MoneyRefusal };

/** Refusals that waiting does not change. */
export type MoneyRefusal = SpendRefusal | CreditRefusal;

export type Admission =
  | {
      readonly admitted: true;
      readonly figures: RateFigures;
      readonly fallbacks?: readonly string[];
      /** The names of the groups that it is booked to, from inside out; absent for none. */
      readonly groups?: readonly string[];
    }
  | { readonly admitted: false; readonly refusal: Refusal; readonly figures: RateFigures };

/** The state of the ledger at its start. */
export interface LedgerSummary {
  readonly created: boolean;
  readonly balanceNanos: Nanos;
  readonly keys: number;
  /** Requests that a crash had left open and that are now charged as held. */
  readonly recoveredHolds: number;
}

/** Thrown when the ledger cannot write, so that nothing can be admitted. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable';
}

/**
 * A promise resolves only after the decision is in the file, and so safe from the end of the process.
 * A settlement or a growth is then also flushed, and so safe from a power cut. All reject with
 * LedgerUnavailable.
 */
export interface Ledger {
  /** Why the file cannot be written; undefined while it can. */
  readonly storageFault: string | undefined;
  /** What the key with this hash may do now, with the figures of a window. Takes nothing from its limits. */
  identify(keyHash: string, window?: RequestWindow): Promise<Identity>;
  /**
   * Admits a request for the list of models, which has a window of its own. With an id: a count of
   * tokens in that window, which also takes a slot until `endCount`. All or nothing.
   */
  admitListing(keyHash: string, countId?: string): Promise<ListingAdmission>;
  /** Frees the slot of a count that was admitted. While the file cannot be written, the promise stays pending. */
  endCount(countId: string): Promise<void>;
  /** What `admit` would say. Takes nothing. */
  forecast(question: AdmissionQuestion): Promise<AdmissionForecast>;
  /** All or nothing: a refusal takes no window, no slot and no money. */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** The number of the last commit that this thread has an answer from. */
  readonly commit: number;
  /**
   * Has a commit flushed. Resolves once it is; undefined if it is already. Nothing of the answer to an admitted
   * request may reach the client before its admission is flushed.
   */
  flushed(commit: number): Promise<void> | undefined;
  /**
   * Ends an admitted request: charges it, and releases its slot and its hold. While the file cannot
   * be written, the promise stays pending.
   */
  settle(settlement: Settlement): Promise<RateFigures>;
  /**
   * Holds more for an open request. While the file cannot be written, the promise stays pending.
   */
  grow(growth: Growth): Promise<Grant>;
  /** Frees the slot of an open request, and nothing else. */
  freeSlot(requestId: string): void;
  /**
   * Counts a refusal for the operator. It is written a moment later; a crash may lose the last
   * ones.
   */
  countRefusal(refusal: CountedRefusal): void;
}

/** The account and the keys at one moment. */
export interface LedgerSnapshot {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** By requests in the last minute, most first. */
  readonly busiest: readonly KeyActivity[];
  /** The requested keys, without those not used since the start. */
  readonly keys: readonly KeyActivity[];
}

/** The ledger with what the main thread needs for the operator. */
export interface LedgerControl extends Ledger {
  /** Takes effect with the next decision. */
  configure(settings: LedgerSettings): Promise<void>;
  snapshot(keyIds: readonly string[]): Promise<LedgerSnapshot>;
}

/** What a key may read of itself. */
export interface KeyAccount {
  readonly name: string;
  readonly spendLimitNanos: Nanos | null;
  /** What it was charged this month. */
  readonly chargedNanos: Nanos;
  readonly budgets: readonly BudgetSpend[];
  /** Null for never. */
  readonly expiresAtMs: number | null;
  /** The windows of its requests and tokens. */
  readonly requests: RateFigures;
  /** Requests that it may have in flight besides those that are. */
  readonly freeSlots: number;
  /** The levels around it, from inside out. */
  readonly outer: readonly LevelAccount[];
}

/** What a key may read of a level around it. Limits are infinite where there are none. */
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
  /** A count of tokens finds no slot. The figures are those of requests, which have the slots. */
  | { readonly kind: 'busy'; readonly keyId: string; readonly limit: number; readonly figures: RateFigures }
  | {
      readonly kind: 'admitted';
      readonly keyId: string;
      readonly concurrency: number;
      readonly account: KeyAccount;
      readonly allowlist: readonly string[] | null;
      readonly figures: RateFigures;
    };
