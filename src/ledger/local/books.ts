/** What decisions read of keys and of what they were charged, and what they write: a state file, or what is known of a database. */
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { Step } from '../../state/budgets.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { KeyRecord } from '../../state/keys.ts';
import type { GroupRecord, UserRecord } from '../../state/levels.ts';

export interface Books {
  readonly keys: {
    byHash(hash: string): KeyRecord | undefined;
    find(id: string): KeyRecord | undefined;
  };
  readonly groups: {
    find(id: string): GroupRecord | undefined;
    findUser(ownerId: string, name: string): UserRecord | undefined;
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

/** What levels were charged, with all that was settled so far. */
export interface Charges {
  chargedInMonth(levelId: string, month: string): Nanos;
  chargedOnDays(levelId: string, fromMs: number, toMs: number): Nanos;
  chargedEver(levelId: string): Nanos;
  /** A step may come twice. */
  windowSteps(levelId: string, windowS: number): readonly Step[];
}
