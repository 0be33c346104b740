/** Grants a role exactly the privileges that a gateway on a shared state needs. */
import pg from 'pg';
import { UserError } from '../../core/errors.ts';
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import { Database, type Run } from './database.ts';
import { grantsFor } from './rights.ts';

/** Facts as text, because row values have no booleans. `owner` is the role that owns the tables. */
const FACTS = `SELECT current_user::text AS caller, r.rolname::text AS role, o.rolname::text AS owner,
    current_database()::text AS database, pg_has_role(current_user, o.oid, 'USAGE')::text AS is_owner,
    pg_has_role(r.oid, o.oid, 'MEMBER')::text AS has_all
  FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner LEFT JOIN pg_roles r ON r.rolname = $1
  WHERE n.nspname = 'inf_gw'`;
const KEEP = `INSERT INTO inf_gw.retention (journal_ms) VALUES ($1)
  ON CONFLICT (only_row) DO UPDATE SET journal_ms = excluded.journal_ms`;

/**
 * Returns a description of the objects created by opening the state; undefined if they existed. `retentionMs`: minimum
 * retention of the journal for gateways that are not the owner; undefined for unlimited. Rejects with a UserError.
 */
export async function grantToRole(
  address: PostgresAddress,
  role: string,
  retentionMs: number | undefined,
): Promise<string | undefined> {
  const { database, created } = await Database.open(address);
  try {
    const name = await assertGrantable(database.run, address, role);
    const quoted = pg.escapeIdentifier(role);
    await database.transaction(async (run) => {
      await run(`GRANT CONNECT ON DATABASE ${pg.escapeIdentifier(name)} TO ${quoted}`);
      for (const statement of grantsFor(quoted)) await run(statement);
      if (retentionMs === undefined) await run('DELETE FROM inf_gw.retention');
      else await run(KEEP, [retentionMs]);
    });
    return created ? `the tables in ${showAddress(address)}` : undefined;
  } catch (error) {
    throw database.explained(error);
  } finally {
    await database.close();
  }
}

/** Returns the name of the database. */
async function assertGrantable(run: Run, address: PostgresAddress, role: string): Promise<string> {
  const [facts] = await run(FACTS, [role]);
  const place = showAddress(address);
  if (facts?.is_owner !== 'true') {
    throw new UserError(
      `only ${facts?.owner} can grant rights: it owns the tables in ${place}; use a config whose \`state:\` signs in as ${facts?.owner}`,
    );
  }
  if (facts.role === null) {
    throw new UserError([
      `there is no role ${role} on the server of ${place}`,
      `make it there with CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN PASSWORD '…' (upper and lower case differ)`,
    ]);
  }
  if (facts.has_all === 'true') {
    throw new UserError(
      `the role ${role} can do everything already: it is ${facts.owner}, who owns the tables, or a member of that role, or a superuser; make another role for gateways`,
    );
  }
  return facts.database as string;
}
