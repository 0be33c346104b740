/** The past as charts show it: requests that have ended, read from the journal in slices. */
import type { Nanos } from '../core/money.ts';
import type { Outcome } from '../core/settlement.ts';
import type { JournalPlace } from './requests.ts';

/** What a chart shows of a request that has ended. */
export interface HistoryRow {
  readonly settledAtMs: number;
  readonly outcome: Outcome;
  /** Of the prompt and of the completion. */
  readonly tokens: number;
  readonly costNanos: Nanos;
  /** From dispatch to the first byte of the upstream's response. */
  readonly firstByteMs: number | undefined;
}

export interface HistoryQuery {
  /** Admitted then or later: the journal has an index by admission. */
  readonly sinceMs: number;
  /** Reads on from there, towards the past. */
  readonly before: JournalPlace;
  /** Only what this gateway served, among those that share a state; if that does not know it, what all served. */
  readonly node: string;
  /** How many rows to read at most. */
  readonly limit: number;
}

export interface HistorySlice {
  readonly rows: readonly HistoryRow[];
  /** Where the next slice begins; undefined if this was the last one. */
  readonly next: JournalPlace | undefined;
}
