/** Stored alerts: the last alert about each subject, and the outbox of pending deliveries. */
import type { Nanos } from '../core/money.ts';

/** The last alert about a subject, such as a budget of a key. */
export interface AlertMark {
  /** The scope of the alert: a month, or the time since credit was last added. A new span makes every value news again. */
  readonly span: string;
  readonly value: string;
  readonly toldAtMs: number;
  /** The mark expires at this time; null for never. */
  readonly untilMs: number | null;
}

export interface StoredMark extends AlertMark {
  /** Grows with each change. */
  readonly revision: number;
}

/** A change of a mark. It is applied only if the mark is unchanged since it was read. */
export interface MarkChange {
  readonly subject: string;
  /** The revision that was read; 0 if the subject had no mark. */
  readonly revision: number;
  /** Undefined removes the mark. */
  readonly mark: AlertMark | undefined;
}

/** An event for the outbox, with its targets. */
export interface OutgoingAlert {
  readonly id: string;
  /** The event as JSON. */
  readonly body: string;
  readonly atMs: number;
  /** Ids of targets, at least one. */
  readonly targets: readonly string[];
}

/** `stale`: the mark has changed since it was read. `full`: the outbox is at its bound. Neither changes the state. */
export type MarkOutcome = 'done' | 'stale' | 'full';

/** A delivery that one process has taken on. */
export interface ClaimedAlert {
  readonly delivery: number;
  readonly body: string;
  readonly atMs: number;
  /** How often it was tried before. */
  readonly attempts: number;
}

export type DeliveryResult =
  | { readonly kind: 'delivered'; readonly answer: string }
  /** Retried after `afterMs`. */
  | { readonly kind: 'retry'; readonly answer: string; readonly afterMs: number }
  | { readonly kind: 'given_up'; readonly answer: string };

export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** A delivery as operators see it. */
export interface AlertDelivery {
  readonly body: string;
  readonly target: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The last one; null before the first attempt. */
  readonly answer: string | null;
}

/** The account as alerts judge it. */
export interface AlertAccount {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** All that was ever charged. */
  readonly chargedNanos: Nanos;
  /** The last credit entry: its number, and the balance after it. */
  readonly lastEntry: { readonly id: string; readonly balanceNanos: Nanos } | undefined;
}

/**
 * Maximum number of pending deliveries. Beyond it new alerts are refused, and their marks stay unchanged, so they are
 * retried.
 */
export const MAX_PENDING = 1_000;
/** Number of ended deliveries kept for operators. */
export const KEPT_DELIVERIES = 500;
/** Waiting deliveries to a target that no gateway has any more are dropped after so long. */
export const MAX_PENDING_MS = 7 * 86_400_000;
