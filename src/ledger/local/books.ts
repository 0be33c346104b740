/** The storage interface of decisions: implemented by the state file, and by the cached facts of a shared database. */
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
    /** Writes the new hold of a request. */
    grow(hold: HoldRow): void;
    /** Ends a request, and charges it. */
    settle(hold: HoldRow, end: Omit<Settlement, 'requestId'>, wallMs: number): void;
  };
  balance(): Nanos;
  /** Changes whenever another writer has committed. */
  changeCount(): number;
}

/** The charges of levels, including all settlements up to now. */
export interface Charges {
  chargedInMonth(levelId: string, month: string): Nanos;
  chargedOnDays(levelId: string, fromMs: number, toMs: number): Nanos;
  chargedEver(levelId: string): Nanos;
  /** May contain the same step twice. */
  windowSteps(levelId: string, windowS: number): readonly Step[];
}
