/** What decisions read of keys and of what they were charged, and what they write: a state file, or what is known of a database. */
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { Step } from '../../state/budgets.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { KeyRecord } from '../../state/keys.ts';

export interface Books {
  readonly keys: {
    byHash(hash: string): KeyRecord | undefined;
    find(id: string): KeyRecord | undefined;
    /** The ids of the keys of the runs inside that of a key, at any depth. */
    innerIds(id: string): readonly string[];
  };
  readonly journal: Charges & {
    hold(hold: HoldRow): void;
    /** Writes what a request holds now. */
    grow(hold: HoldRow): void;
    /** Ends a request, and charges it. */
    settle(hold: HoldRow, end: Omit<Settlement, 'requestId'>, wallMs: number): void;
  };
  balance(): Nanos;
  /** A number that changes whenever somebody else has changed something. */
  changeCount(): number;
}

/** What keys were charged, with all that was settled so far. */
export interface Charges {
  chargedInMonth(keyId: string, month: string): Nanos;
  chargedOnDays(keyId: string, fromMs: number, toMs: number): Nanos;
  chargedEver(keyId: string): Nanos;
  /** A step may come twice. */
  windowSteps(keyId: string, windowS: number): readonly Step[];
}
