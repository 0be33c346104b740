/** What the ledger of one process hands over to that of the next: all that is only in its memory. */
import type { HoldRow } from '../state/journal.ts';
import type { WindowEntries } from './local/window.ts';

/** A request in flight. Its hold is in the state as well. */
export interface OpenRequestHandover {
  readonly hold: HoldRow;
  readonly reservedTokens: number;
  readonly month: string;
  readonly admittedAtMs: number;
  readonly hasSlot: boolean;
}

/** The windows of a level. */
export interface KeyHandover {
  readonly keyId: string;
  readonly requests: WindowEntries;
  readonly tokens: WindowEntries;
  readonly listings: WindowEntries;
}

/** What an engine knows and its state does not. Times are those of `machineMs`. */
export interface EngineHandover {
  readonly keys: readonly KeyHandover[];
  readonly open: readonly OpenRequestHandover[];
}

export interface Handover extends EngineHandover {
  /** The last commit. All are flushed, and the next ledger goes on counting from here. */
  readonly commits: number;
  /** The open requests, by the port from which their commands will come. */
  readonly ports: readonly PortHandover[];
}

export interface PortHandover {
  readonly port: number;
  readonly requestIds: readonly string[];
}
