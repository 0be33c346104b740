/** The past in the operator's book. */
import type { HistoryQuery, HistorySlice } from './history.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import { historyOf } from './rows.ts';
import { HISTORY_COLUMNS } from './sql.ts';

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
    return historyOf(yield* rows(this.#slice, [sinceMs, before.admittedAtMs, before.row, limit, node]), limit);
  }
}
