/** History for charts: ended requests, read from the journal in slices. */
import type { Nanos } from '../core/money.ts';
import type { Outcome } from '../core/settlement.ts';
import type { JournalPlace } from './requests.ts';

/** The fields of an ended request that charts use. */
export interface HistoryRow {
  readonly settledAtMs: number;
  readonly outcome: Outcome;
  /** Prompt and completion tokens. */
  readonly tokens: number;
  readonly costNanos: Nanos;
  /** From dispatch to the first byte of the upstream's response. */
  readonly firstByteMs: number | undefined;
}

export interface HistoryQuery {
  /** Time of the earliest admission: the journal is indexed by admission. */
  readonly sinceMs: number;
  /** Continues from this position towards the past. */
  readonly before: JournalPlace;
  /** Only requests of this gateway, where several share a state. All requests if the state does not know the gateway. */
  readonly node: string;
  /** Maximum number of rows to read. */
  readonly limit: number;
}

export interface HistorySlice {
  readonly rows: readonly HistoryRow[];
  /** Where the next slice begins; undefined if this was the last one. */
  readonly next: JournalPlace | undefined;
}
