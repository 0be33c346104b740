/** A shared state as the source of a move. */
import { UserError } from '../../core/errors.ts';
import type { Nanos } from '../../core/money.ts';
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import { columnsOf, figuresQuery, type MovedTable, type MoveSource } from '../move.ts';
import type { Row } from '../rows.ts';
import { LongSession } from './long-session.ts';
import { migrate, schemaVersion } from './migrations.ts';
import { assertNoGateways, LOCK_TABLES, movedTable } from './move-tables.ts';

const BATCH_ROWS = 5_000;

export class DatabaseSource implements MoveSource {
  readonly contents: MoveSource['contents'];
  readonly #session: LongSession;

  /** Locks the tables. Throws a UserError if they do not exist or a gateway runs on them. */
  static async open(address: PostgresAddress): Promise<DatabaseSource> {
    const session = await LongSession.open(address);
    try {
      if ((await session.with(schemaVersion)) === 0) {
        throw new UserError(`no tables of inf-gw in ${showAddress(address)}: there is nothing to move`);
      }
      await session.with(migrate);
      await assertNoGateways(session.run, address);
      await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      // Comes before the first query, which takes the snapshot.
      await session.run(LOCK_TABLES);
      await assertNoGateways(session.run, address);
      return new DatabaseSource(session);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private constructor(session: LongSession) {
    this.#session = session;
    this.contents = { kind: 'database', read: session.run };
  }

  async begin(): Promise<void> {}

  async figures(table: MovedTable): Promise<Row> {
    return (await this.#session.run(figuresQuery(table, movedTable(table))))[0] as Row;
  }

  async *rows(table: MovedTable): AsyncGenerator<readonly Row[]> {
    const { run } = this.#session;
    const columns = columnsOf(table).map((column) =>
      column === 'allowlist' ? 'allowlist::text AS allowlist' : column,
    );
    await run(`DECLARE moved NO SCROLL CURSOR FOR SELECT ${columns.join(', ')} FROM ${movedTable(table)}`);
    for (;;) {
      const rows = await run(`FETCH ${BATCH_ROWS} FROM moved`);
      if (rows.length === 0) break;
      yield rows;
    }
    await run('CLOSE moved');
  }

  async balance(): Promise<Nanos> {
    return (await this.#session.run('SELECT balance_nanos FROM inf_gw.account'))[0]?.balance_nanos as bigint;
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
