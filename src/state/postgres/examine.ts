/** Examines a database, read-only: its version, its tables, and the privileges of the user. */
import type { PostgresAddress } from '../../core/postgres-address.ts';
import { disconnect, query } from './connect.ts';
import { explained } from './faults.ts';
import { schemaVersion } from './migrations.ts';
import { GATEWAY_FUNCTIONS } from './rights.ts';
import { MIGRATIONS } from './schema.ts';
import { openServer } from './server.ts';

export interface DatabaseFacts {
  /** PostgreSQL's version. */
  readonly server: string;
  /** The schema version; 0 without tables. */
  readonly version: number;
  /** The schema version of this program. */
  readonly newest: number;
  /** Whether the user has the privilege for the next step: create the tables, migrate them, or run a gateway on them. */
  readonly isAllowed: boolean;
  /**
   * Minimum retention of the journal in the database, which a gateway with this role cannot shorten: null for unlimited, 0
   * without a minimum.
   */
  readonly keptMs: number | null;
  /**
   * A server crash may lose acknowledged commits: `standby` if an asynchronous standby may take over, `disk` if commits
   * are not synced.
   */
  readonly mayLose: 'standby' | 'disk' | undefined;
}

const ANSWER_MS = 5_000;
const SERVER = "SELECT current_setting('server_version') AS server";
const MAY_CREATE = "SELECT has_database_privilege(current_database(), 'CREATE') AS allowed";
const MAY_UPDATE = `SELECT pg_has_role(current_user, nspowner, 'USAGE') AS allowed
  FROM pg_namespace WHERE nspname = 'inf_gw'`;
const MAY_SERVE = `SELECT has_schema_privilege(n.oid, 'USAGE')
    AND bool_and(has_function_privilege(p.oid, 'EXECUTE')) AS allowed
  FROM pg_namespace n JOIN pg_proc p ON p.pronamespace = n.oid
  WHERE n.nspname = 'inf_gw' AND p.proname IN (${GATEWAY_FUNCTIONS}) GROUP BY n.oid`;

const KEPT = `SELECT CASE WHEN pg_has_role(current_user, nspowner, 'MEMBER') THEN 0
    ELSE (SELECT journal_ms FROM inf_gw.retention) END AS kept_ms
  FROM pg_namespace WHERE nspname = 'inf_gw'`;

/**
 * Without the privilege to read replication details, the query still shows that a standby exists. Logical subscribers and
 * base backups are not standbys.
 */
const MAY_LOSE = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'disk'
    WHEN 'local' IN (current_setting('synchronous_commit'), coalesce(nullif(current_setting('synchronous_standby_names'), ''), 'local'))
      AND EXISTS (SELECT FROM pg_stat_replication r WHERE coalesce(r.state, '') <> 'backup'
        AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))
    THEN 'standby' END AS may_lose`;

/** Rejects with a UserError if the database cannot be reached or used. */
export async function examineDatabase(address: PostgresAddress): Promise<DatabaseFacts> {
  const client = await openServer(address, 'inf-gw doctor');
  try {
    const { rows } = await query<{ server: string }>(client, SERVER, ANSWER_MS);
    const newest = MIGRATIONS.length;
    const version = await schemaVersion(client);
    const question = version === 0 ? MAY_CREATE : version < newest ? MAY_UPDATE : MAY_SERVE;
    const answer = await query<{ allowed: boolean }>(client, question, ANSWER_MS);
    const isAllowed = answer.rows[0]?.allowed === true;
    const kept =
      isAllowed && version === newest ? await query<{ kept_ms: string | null }>(client, KEPT, ANSWER_MS) : undefined;
    const { kept_ms: keptMs = '0' } = kept?.rows[0] ?? {};
    const lost = await query<{ may_lose: 'standby' | 'disk' | null }>(client, MAY_LOSE, ANSWER_MS);
    return {
      server: rows[0]?.server ?? '',
      version,
      newest,
      isAllowed,
      keptMs: keptMs === null ? null : Number(keptMs),
      mayLose: lost.rows[0]?.may_lose ?? undefined,
    };
  } catch (error) {
    throw explained(error, address);
  } finally {
    await disconnect(client);
  }
}
