/** The ledger as its callers see it: every decision about keys, limits and money, and all that is remembered. */
import type { Limits, RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { Durability } from '../core/settings.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';

/** What can change while the ledger runs: the limits where a key has none of its own, and how credit and journal are kept. */
export interface LedgerSettings extends Limits {
  readonly creditEnforced: boolean;
  /** How long rows of the journal are kept; undefined for ever. */
  readonly journalRetentionMs: number | undefined;
}

export interface LedgerOptions extends LedgerSettings {
  readonly path: string;
  /** What a commit survives: `full` a power cut, `crash` only the end of the process. */
  readonly durability: Durability;
}

/** What is known of the sender of a request, by the hash of its key. */
export type Identity =
  | { readonly kind: 'unknown'; readonly figures: RateFigures }
  | { readonly kind: 'disabled'; readonly keyId: string; readonly figures: RateFigures }
  | {
      readonly kind: 'enabled';
      readonly keyId: string;
      readonly allowlist: readonly string[] | null;
      readonly figures: RateFigures;
    };

/** What a request asks admission for. */
export interface AdmissionRequest {
  readonly requestId: string;
  readonly keyHash: string;
  /** `<provider>/<model>`, as the client named it. */
  readonly model: string;
  /** Tokens to reserve in the window: estimated input, and the declared output if there is one. */
  readonly reservedTokens: number;
  /** What the hold was computed from: a crash is charged with these. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  /** Models that may serve in its place, where there are any: those that the key may call come back. */
  readonly fallbacks?: readonly string[];
}

/** Why admission says no. One name for each precondition, in the order in which they are checked. */
export type Refusal =
  | { readonly reason: 'unknown_key' }
  | { readonly reason: 'key_disabled' }
  | { readonly reason: 'model_not_allowed' }
  | { readonly reason: 'spend_limit_reached'; readonly limitNanos: Nanos }
  | { readonly reason: 'insufficient_credit'; readonly balanceNanos: Nanos }
  | { readonly reason: 'larger_than_token_limit'; readonly limit: number }
  | { readonly reason: 'requests_per_minute'; readonly limit: number; readonly retryAfterS: number }
  | { readonly reason: 'tokens_per_minute'; readonly limit: number; readonly retryAfterS: number }
  | { readonly reason: 'concurrency'; readonly limit: number; readonly retryAfterS: number }
  | { readonly reason: 'money_spoken_for'; readonly retryAfterS: number };

export type Admission =
  | { readonly admitted: true; readonly figures: RateFigures; readonly fallbacks?: readonly string[] }
  | { readonly admitted: false; readonly refusal: Refusal; readonly figures: RateFigures };

/** What the program says of its state when it starts. */
export interface LedgerSummary {
  readonly created: boolean;
  readonly balanceNanos: Nanos;
  readonly keys: number;
  /** Requests that a crash had left open, now charged as held. */
  readonly recoveredHolds: number;
}

/** Thrown when the ledger cannot write, so that nothing may be admitted. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable';
}

/** Every promise is answered after what it decided is in the file. All reject with LedgerUnavailable. */
export interface Ledger {
  /** Why the file cannot be written at the moment; undefined while it can. */
  readonly fault: string | undefined;
  /** Who the holder of this key is at this moment. Takes nothing. */
  identify(keyHash: string): Promise<Identity>;
  /** Enters the window of model listings. */
  admitListing(keyHash: string): Promise<ListingAdmission>;
  /** All or nothing: a refusal takes no window, no slot and no money. */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** Ends an admitted request: charges it, frees its slot and its hold. Waits out a disk that cannot be written. */
  settle(settlement: Settlement): Promise<RateFigures>;
  /** Counts a refusal, for the operator. It is in the file a moment later; a crash may lose the last ones. */
  countRefusal(refusal: CountedRefusal): void;
}

/** What a key is doing at this moment. */
export interface KeyActivity {
  readonly keyId: string;
  /** Of the last 60 seconds. */
  readonly requests: number;
  /** Of the last 60 seconds, and what requests under way reserve. */
  readonly tokens: number;
  /** Requests under way. */
  readonly open: number;
}

/** How the account and the keys stand at this moment. */
export interface LedgerSnapshot {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** The keys with most requests in the last minute first. */
  readonly busiest: readonly KeyActivity[];
  /** Those that were asked for, as far as they have done anything since the start. */
  readonly keys: readonly KeyActivity[];
}

/** What the operator's side of the process asks of the ledger. */
export interface LedgerControl extends Ledger {
  /** Holds from the next decision on. */
  configure(settings: LedgerSettings): Promise<void>;
  snapshot(keyIds: readonly string[]): Promise<LedgerSnapshot>;
}

export type ListingAdmission =
  | { readonly kind: 'unknown'; readonly figures: RateFigures }
  | { readonly kind: 'disabled'; readonly keyId: string; readonly figures: RateFigures }
  | {
      readonly kind: 'limited';
      readonly keyId: string;
      readonly retryAfterS: number;
      readonly limit: number;
      readonly figures: RateFigures;
    }
  | {
      readonly kind: 'admitted';
      readonly keyId: string;
      readonly allowlist: readonly string[] | null;
      readonly figures: RateFigures;
    };
