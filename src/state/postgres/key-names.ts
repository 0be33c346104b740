/** The names of the keys in a database, for who only suggests them: no tables are made or updated. */
import type { PostgresAddress } from '../../core/postgres-address.ts';
import { connect, disconnect, query } from './connect.ts';

const ANSWER_MS = 1_000;

/** Rejects with whatever the driver rejects with. */
export async function keyNames(address: PostgresAddress, most: number): Promise<string[]> {
  const client = await connect(address, 'inf-gw completion');
  try {
    const text = "SELECT name FROM inf_gw.keys WHERE state <> 'deleted' ORDER BY id DESC LIMIT $1";
    const { rows } = await query<{ name: string }>(client, { text, values: [most] }, ANSWER_MS);
    return rows.map(({ name }) => name);
  } finally {
    await disconnect(client);
  }
}
