/** Reads the names of keys and groups for shell completion. Tables are neither created nor migrated. */
import type { PostgresAddress } from '../../core/postgres-address.ts';
import { connect, disconnect, query } from './connect.ts';

const ANSWER_MS = 1_000;

/** Rejects with errors of the driver. */
export async function keyNames(address: PostgresAddress, most: number): Promise<string[]> {
  const client = await connect(address, 'inf-gw completion');
  try {
    const text = `SELECT name FROM (SELECT id, name FROM inf_gw.keys WHERE state <> 'deleted'
      UNION ALL SELECT id, '@' || name FROM inf_gw.groups WHERE state <> 'deleted') AS n ORDER BY substr(id, 5) DESC LIMIT $1`;
    const { rows } = await query<{ name: string }>(client, { text, values: [most] }, ANSWER_MS);
    return rows.map(({ name }) => name);
  } finally {
    await disconnect(client);
  }
}
