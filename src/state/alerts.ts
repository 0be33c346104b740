/** Alerts as they are stored: what was told last of each subject, and the outbox of what is to be delivered. */
import type { Nanos } from '../core/money.ts';

/** The last alert about a subject, such as a budget of a key. */
export interface AlertMark {
  /** What it was about: a month, or the account since credit was last added. In another one everything is news. */
  readonly span: string;
  readonly value: string;
  readonly toldAtMs: number;
  /** From then on the mark no longer counts; null for never. */
  readonly untilMs: number | null;
}

export interface StoredMark extends AlertMark {
  /** Grows with each change. */
  readonly revision: number;
}

/** A change of a mark. It is made only if nobody has changed the mark since it was read. */
export interface MarkChange {
  readonly subject: string;
  /** The revision that was read; 0 if there was no mark. */
  readonly revision: number;
  /** Undefined removes the mark. */
  readonly mark: AlertMark | undefined;
}

/** An event for the outbox, and where it goes. */
export interface OutgoingAlert {
  readonly id: string;
  /** The event as JSON. */
  readonly body: string;
  readonly atMs: number;
  /** Ids of targets, at least one. */
  readonly targets: readonly string[];
}

/** `stale`: the mark has changed meanwhile. `full`: the outbox holds too much. Both change nothing. */
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
  /** It is tried again after that time. */
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

/** Deliveries that wait, at most: beyond that nothing is added, and what was to be told stays to be told. */
export const MAX_PENDING = 1_000;
/** How many deliveries that have ended are kept, for operators. */
export const KEPT_DELIVERIES = 500;
/** Waiting deliveries to a target that no gateway has any more are dropped after so long. */
export const MAX_PENDING_MS = 7 * 86_400_000;
