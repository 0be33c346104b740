/** The figures by which a gateway that starts now would decide about requests of a level. */
import type { Nanos } from '../core/money.ts';
import type { HoldRow } from './journal.ts';

/** What counts in the windows of a level. */
export interface StandingEntry {
  readonly ageMs: number;
  readonly requests: number;
  readonly tokens: number;
}

/** A request in flight at another gateway. */
export interface StandingRequest {
  readonly hold: HoldRow;
  readonly ageMs: number;
  /** Of its admission. */
  readonly month: string;
  readonly reservedTokens: number;
  readonly hasSlot: boolean;
}

export interface Standing {
  /** The current one. */
  readonly month: string;
  /** What the level was charged in it. */
  readonly chargedNanos: Nanos;
  readonly balanceNanos: Nanos;
  /** The sum of all open holds, of all keys. */
  readonly heldNanos: Nanos;
  readonly entries: readonly StandingEntry[];
  readonly open: readonly StandingRequest[];
  /** Requests of all keys that a crash has left open, and whose holds count as charged here. */
  readonly interrupted: number;
}

export interface Standings {
  of(levelId: string, wallMs: number): Promise<Standing>;
}
