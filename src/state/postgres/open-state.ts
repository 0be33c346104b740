/** Opens the database for the CLI and the TUI. */
import type { KeptResponse } from '../../core/kept-responses.ts';
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import { openBook, openPart } from '../book.ts';
import { idsOf, KeptBook } from '../kept-book.ts';
import { type Operation, rows } from '../operation.ts';
import type { OpenState } from '../state.ts';
import { DatabaseAlerts } from './alerts.ts';
import { Database } from './database.ts';
import { DIALECT } from './dialect.ts';
import { PostgresNodes } from './nodes.ts';
import { PostgresStandings } from './standings.ts';

/**
 * Two change markers from transaction ids: one of the account, which changes with every decision and log entry, and one
 * that grows with every change of a key.
 */
const CHANGES = `SELECT (SELECT xmin::text FROM inf_gw.account) AS account,
  (SELECT sum(xmin::text::bigint) FROM inf_gw.keys) AS keys`;

/** Opens the database, and creates or migrates its tables if necessary. Throws a UserError. */
export async function openState(address: PostgresAddress): Promise<OpenState> {
  const { database, created } = await Database.open(address);
  return openDatabase(database, created, address);
}

function openDatabase(database: Database, created: boolean, address: PostgresAddress): OpenState {
  const carryOut = <T>(operation: Operation<T>) => database.carryOut(operation);
  let changes: string | undefined;
  return {
    ...openBook(DIALECT, carryOut),
    alerts: openPart(new DatabaseAlerts(), carryOut),
    kept: openPart(new DatabaseKept(), carryOut),
    standings: new PostgresStandings(database),
    nodes: new PostgresNodes(database),
    created: created ? `the tables in ${showAddress(address)}` : undefined,
    async run(work) {
      try {
        return await work();
      } catch (error) {
        throw database.explained(error);
      }
    },
    async hasChanged() {
      const [row] = await database.run(CHANGES);
      const before = changes;
      changes = `${row?.account} ${row?.keys}`;
      return changes !== before;
    },
    close: () => database.close(),
  };
}

class DatabaseKept extends KeptBook {
  constructor() {
    super(DIALECT);
  }

  *drop(keyId: string, responseId: string): Operation<void> {
    yield* rows('SELECT inf_gw.drop_kept_response($1, $2)', [keyId, responseId]);
  }

  protected *write(response: KeptResponse, isBounded: boolean): Operation<void> {
    const { keyId, id, upstream, model, atMs } = response;
    const ids = idsOf(response);
    yield* rows('SELECT inf_gw.keep_response($1, $2, $3, $4, $5, $6, $7, $8)', [
      keyId,
      id,
      ids.map((each) => each.id),
      ids.map((each) => String(each.tokens)),
      upstream,
      model,
      atMs,
      isBounded ? 1 : 0,
    ]);
  }
}
