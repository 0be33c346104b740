/** The figures by which a newly started gateway would decide about requests of a level. */
import type { Nanos } from '../core/money.ts';
import type { HoldRow } from './journal.ts';

/** An entry in the windows of a level. */
export interface StandingEntry {
  readonly ageMs: number;
  readonly requests: number;
  readonly tokens: number;
}

/** A request in flight at another gateway. */
export interface StandingRequest {
  readonly hold: HoldRow;
  readonly ageMs: number;
  /** The month of its admission. */
  readonly month: string;
  readonly reservedTokens: number;
  readonly hasSlot: boolean;
}

export interface Standing {
  /** The current month. */
  readonly month: string;
  /** The charges of the level in the month. */
  readonly chargedNanos: Nanos;
  readonly balanceNanos: Nanos;
  /** The sum of the open holds of all keys. */
  readonly heldNanos: Nanos;
  readonly entries: readonly StandingEntry[];
  readonly open: readonly StandingRequest[];
  /** Number of requests, over all keys, that a crash left open. Their holds count as charged here. */
  readonly interrupted: number;
}

export interface Standings {
  of(levelId: string, wallMs: number): Promise<Standing>;
}
