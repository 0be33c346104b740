/** A shared state as the target of a move. */
import { UserError } from '../../core/errors.ts';
import type { Nanos } from '../../core/money.ts';
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import { figuresQuery, MOVED_COLUMNS, MOVED_TABLES, type MovedTable, type MoveTarget } from '../move.ts';
import type { Row } from '../rows.ts';
import { NOW_US } from './activity.ts';
import { LongSession } from './long-session.ts';
import { migrate } from './migrations.ts';
import { assertNoGateways, LOCK_TABLES, movedTable } from './move-tables.ts';

/** The columns of holds. SQLite does not store reserved tokens, so the maximum is used. The holds get a dead gateway. */
const HOLD = {
  columns:
    'request_id, key_id, model, admitted_us, input_tokens, output_tokens, hold_nanos, reserved_tokens, node_id, price, levels, end_user',
  values: `request_id, key_id, model, admitted_at_ms * 1000, input_tokens, output_tokens, hold_nanos,
    input_tokens + output_tokens, (SELECT id FROM inf_gw.nodes WHERE name = 'migrated'), price, levels, end_user`,
};
/** Silent since 1970, so that the first gateway that starts settles its holds. */
const DEAD_NODE = `INSERT INTO inf_gw.nodes (name, instance, version, address, epoch, started_at_ms, alive_us)
  VALUES ('migrated', '', '', '', 1, 0, 0) ON CONFLICT DO NOTHING`;

const COMPLETE = [
  `UPDATE inf_gw.account SET last_us = greatest(last_us, ${NOW_US}),
     held_nanos = (SELECT coalesce(sum(hold_nanos), 0) FROM inf_gw.holds)`,
  `SELECT setval('inf_gw.journal_ids', greatest(1, max(id)), count(*) > 0)::text FROM inf_gw.journal`,
  `SELECT setval(pg_get_serial_sequence('inf_gw.credit_entries', 'id'), greatest(1, max(id)), count(*) > 0)::text
     FROM inf_gw.credit_entries`,
];
const MONTHS = `SELECT month, (extract(epoch FROM (month || '-01')::timestamp) * 1000)::bigint AS from_ms,
    (extract(epoch FROM (month || '-01')::timestamp + interval '1 month') * 1000)::bigint AS to_ms
  FROM (SELECT DISTINCT month FROM inf_gw.usage_months) m`;

export class DatabaseTarget implements MoveTarget {
  readonly contents: MoveTarget['contents'];
  readonly created: string | undefined;
  readonly #session: LongSession;
  #hasPartitions = false;

  /** Creates and locks the tables. Throws a UserError if they are not empty or a gateway runs on them. */
  static async open(address: PostgresAddress): Promise<DatabaseTarget> {
    const session = await LongSession.open(address);
    try {
      const created = await session.with(migrate);
      await assertNoGateways(session.run, address);
      await session.run('BEGIN; SET LOCAL synchronous_commit = on');
      await session.run(LOCK_TABLES);
      await assertNoGateways(session.run, address);
      await assertEmpty(session, address);
      return new DatabaseTarget(session, created ? `the tables in ${showAddress(address)}` : undefined);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private constructor(session: LongSession, created: string | undefined) {
    this.#session = session;
    this.created = created;
    this.contents = { kind: 'database', read: session.run };
  }

  async insert(table: MovedTable, rows: readonly Row[]): Promise<void> {
    if (table === 'journal' && !this.#hasPartitions) await this.#makePartitions();
    if (table === 'holds') await this.#session.run(DEAD_NODE);
    const { text, integers } = MOVED_COLUMNS[table];
    const columns = [...text, ...integers];
    const types = [...text.map(() => 'text[]'), ...integers.map(() => 'bigint[]')];
    const arrays = types.map((type, i) => `$${i + 1}::${type}`).join(', ');
    const values = columns.map((column) => (column === 'allowlist' ? 'allowlist::jsonb' : column)).join(', ');
    const stored = table === 'holds' ? HOLD : { columns: columns.join(', '), values };
    await this.#session.run(
      `INSERT INTO inf_gw.${table} (${stored.columns}) OVERRIDING SYSTEM VALUE
         SELECT ${stored.values} FROM unnest(${arrays}) AS x (${columns.join(', ')})`,
      [
        ...text.map((column) => rows.map((row) => withoutZeros(row[column] as string | null))),
        ...integers.map((column) => rows.map((row) => row[column] as bigint | null)),
      ],
    );
  }

  async complete(balanceNanos: Nanos): Promise<void> {
    const { run } = this.#session;
    await run('UPDATE inf_gw.account SET balance_nanos = $1', [balanceNanos]);
    for (const statement of COMPLETE) await run(statement);
    await run(`ANALYZE ${MOVED_TABLES.map((table) => `inf_gw.${table}`).join(', ')}`);
  }

  async figures(table: MovedTable): Promise<Row> {
    return (await this.#session.run(figuresQuery(table, movedTable(table))))[0] as Row;
  }

  async seal(): Promise<void> {}

  async commit(): Promise<void> {
    await this.#session.run('COMMIT');
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** Creates a journal partition for every month with sums. */
  async #makePartitions(): Promise<void> {
    this.#hasPartitions = true;
    const { run } = this.#session;
    for (const { month, from_ms: from, to_ms: to } of await run(MONTHS)) {
      const name = `inf_gw.journal_${String(month).replace('-', '_')}`;
      await run(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF inf_gw.journal FOR VALUES FROM (${from}) TO (${to})`);
    }
  }
}

async function assertEmpty({ run }: LongSession, address: PostgresAddress): Promise<void> {
  for (const table of MOVED_TABLES) {
    if ((await run(`SELECT 1::bigint AS one FROM inf_gw.${table} LIMIT 1`)).length === 0) continue;
    throw new UserError([
      `${showAddress(address)} is not empty: it has ${table}`,
      'move to another database, or drop the schema inf_gw of this one if nobody needs it',
    ]);
  }
}

/** PostgreSQL text cannot contain zero bytes, but ids from hosts in SQLite may. */
function withoutZeros(text: string | null): string | null {
  return text?.replaceAll('\0', '\u{FFFD}') ?? null;
}
