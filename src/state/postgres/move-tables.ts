/** The tables of a shared state during a move: their names in source and target, and their locks. */
import { UserError } from '../../core/errors.ts';
import { counted } from '../../core/plural.ts';
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import type { MovedTable } from '../move.ts';
import { NOW_US } from './activity.ts';
import type { Run } from './database.ts';
import { SILENCE_US } from './schema/nodes.ts';

/** Until the end of the transaction other sessions can read, but can neither write nor start a gateway. */
export const LOCK_TABLES = `LOCK TABLE inf_gw.account, inf_gw.keys, inf_gw.credit_entries, inf_gw.nodes, inf_gw.holds,
  inf_gw.journal, inf_gw.refusals IN SHARE ROW EXCLUSIVE MODE`;

const ALIVE = `SELECT name, (${NOW_US} - alive_us) / 1000000 AS silent_s FROM inf_gw.nodes
  WHERE alive_us > ${NOW_US} - ${SILENCE_US} ORDER BY name`;

/** Throws a UserError with the names of the gateways that run on a shared state, if any. */
export async function assertNoGateways(run: Run, address: PostgresAddress): Promise<void> {
  const alive = await run(ALIVE);
  if (alive.length === 0) return;
  const names = alive.map(({ name, silent_s: silent }) => `${name} (heard of ${silent} s ago)`).join(', ');
  throw new UserError([
    `${counted(alive.length, 'gateway')} running on ${showAddress(address)}: ${names}`,
    `stop them first; one that was killed counts as running for ${SILENCE_US / 1_000_000} s`,
  ]);
}

/** Selects a table with SQLite's column names. */
export function movedTable(table: MovedTable): string {
  return table === 'holds'
    ? '(SELECT h.*, admitted_us / 1000 AS admitted_at_ms FROM inf_gw.holds h) h'
    : `inf_gw.${table}`;
}
