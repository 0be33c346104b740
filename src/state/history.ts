/** The past as charts show it: requests that have ended, read from the journal in slices. */
import type { Nanos } from '../core/money.ts';
import type { Outcome } from '../core/settlement.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import { historyOf } from './rows.ts';
import { HISTORY_COLUMNS } from './sql.ts';

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

/** The place of a row in the journal. */
export interface JournalPlace {
  readonly admittedAtMs: number;
  readonly id: bigint;
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

export class HistoryBook {
  readonly #slice: string;

  constructor({ isShared }: Dialect) {
    // Rows of other gateways are left out only afterwards: a search past them would have no bound.
    const own = `, CASE WHEN coalesce(node_id = (SELECT id FROM inf_gw.nodes WHERE name = $5), true) THEN 'own' END AS own`;
    this.#slice = `SELECT ${HISTORY_COLUMNS}${isShared ? own : ''} FROM inf_gw.journal
      WHERE admitted_at_ms >= $1 AND (admitted_at_ms, id) < ($2, $3) ORDER BY admitted_at_ms DESC, id DESC LIMIT $4`;
  }

  /** The latest admissions before a place. */
  *slice({ sinceMs, before, node, limit }: HistoryQuery): Operation<HistorySlice> {
    return historyOf(yield* rows(this.#slice, [sinceMs, before.admittedAtMs, before.id, limit, node]), limit);
  }
}
