/** Looks at a database without changing anything: its version, its tables, and what the user may do. */
import type { PostgresAddress } from '../../core/postgres-address.ts';
import { disconnect, query } from './connect.ts';
import { explained } from './faults.ts';
import { schemaVersion } from './migrations.ts';
import { GATEWAY_FUNCTIONS } from './rights.ts';
import { MIGRATIONS } from './schema.ts';
import { openServer } from './server.ts';

export interface DatabaseFacts {
  /** The version of PostgreSQL. */
  readonly server: string;
  /** The version of the tables; 0 if there are none. */
  readonly version: number;
  /** The one that this program makes. */
  readonly newest: number;
  /** Whether the user may do what is next: make the tables, update them, or run a gateway on them. */
  readonly isAllowed: boolean;
  /** For how long requests are kept in the journal, whatever a gateway of this user is told: null for ever, 0 for not at all. */
  readonly keptMs: number | null;
  /** What a crash of the server may lose of what clients were promised: a standby that takes over lacks the end, or the disk itself. */
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

/** Whoever may not read how a standby is doing still sees that there is one. A subscriber of rows is none, nor is a backup. */
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
