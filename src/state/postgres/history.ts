/** The past as charts show it, from the journal of a database. */
import type { History, HistoryQuery, HistorySlice } from '../history.ts';
import { historyOf } from '../rows.ts';
import { HISTORY_COLUMNS } from '../sql.ts';
import type { Database } from './database.ts';

/** Rows of other gateways are left out only here: a search past them would have no bound. */
const SLICE = `SELECT ${HISTORY_COLUMNS},
    CASE WHEN coalesce(node_id = (SELECT id FROM inf_gw.nodes WHERE name = $5), true) THEN 'own' END AS own
  FROM inf_gw.journal
  WHERE admitted_at_ms >= $1 AND (admitted_at_ms, id) < ($2, $3) ORDER BY admitted_at_ms DESC, id DESC LIMIT $4`;

export class PostgresHistory implements History {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async slice({ sinceMs, before, node, limit }: HistoryQuery): Promise<HistorySlice> {
    const values = [sinceMs, before.admittedAtMs, before.id, limit, node];
    return historyOf(await this.#database.run(SLICE, values), limit);
  }
}
