/** The past as charts show it, from the journal of a state file. */
import type { HistoryQuery, HistorySlice } from '../history.ts';
import { historyOf, type Row } from '../rows.ts';
import { HISTORY_COLUMNS } from '../sql.ts';
import type { Sqlite } from './database.ts';

const SLICE = `SELECT ${HISTORY_COLUMNS} FROM journal
  WHERE admitted_at_ms >= $since AND (admitted_at_ms, id) < ($admitted, $id)
  ORDER BY admitted_at_ms DESC, id DESC LIMIT $limit`;

export class HistoryReader {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** Of the only gateway that a state file has. */
  slice({ sinceMs, before, limit }: HistoryQuery): HistorySlice {
    const parameters = { since: sinceMs, admitted: before.admittedAtMs, id: before.id, limit };
    return historyOf(this.#database.prepare(SLICE).safeIntegers().all(parameters) as Row[], limit);
  }
}
