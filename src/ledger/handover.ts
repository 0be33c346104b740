/** The in-memory state that the ledger of one process hands over to the ledger of the next. */
import type { HoldRow } from '../state/journal.ts';
import type { WindowEntries } from './local/window.ts';

/** An open request. Its hold is also in the stored state. */
export interface OpenRequestHandover {
  readonly hold: HoldRow;
  readonly reservedTokens: number;
  readonly month: string;
  readonly admittedAtMs: number;
  readonly hasSlot: boolean;
}

export interface KeyHandover {
  readonly keyId: string;
  readonly requests: WindowEntries;
  readonly tokens: WindowEntries;
  readonly listings: WindowEntries;
}

/** The state of an engine that is not stored. Times are in `machineMs`. */
export interface EngineHandover {
  readonly keys: readonly KeyHandover[];
  readonly open: readonly OpenRequestHandover[];
}

export interface Handover extends EngineHandover {
  /** The number of the last commit. All commits are flushed, and the next ledger continues the numbering. */
  readonly commits: number;
  /** The open requests of each port that will forward their commands. */
  readonly ports: readonly PortHandover[];
}

export interface PortHandover {
  readonly port: number;
  readonly requestIds: readonly string[];
}
