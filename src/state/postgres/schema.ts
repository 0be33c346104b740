/** The numbered migrations from an empty database to the current tables, and the functions on the tables. */
import { GATEWAY_FUNCTIONS, RIGHTS } from './rights.ts';
import { ALERT_TABLES, ALERTS } from './schema/alerts.ts';
import { BUDGET_TABLES, BUDGETS } from './schema/budgets.ts';
import { CLOCK } from './schema/clock.ts';
import { KEPT, KEPT_TABLES } from './schema/kept.ts';
import { LEVEL_TABLES, LEVELS } from './schema/levels.ts';
import { LOG, REBUILD } from './schema/log.ts';
import { LOSS_TABLE, LOSSES } from './schema/losses.ts';
import { NAME_TABLES, NAMES } from './schema/names.ts';
import { NODES } from './schema/nodes.ts';
import { SETTLE } from './schema/settle.ts';
import { TABLES } from './schema/tables.ts';
import { RETENTION_TABLE, UPKEEP } from './schema/upkeep.ts';

/**
 * Step n migrates the tables from version n - 1 to n; `inf_gw.migrations` contains the versions. A released step never
 * changes. A change of functions alone requires a step, too: an empty one.
 */
export const MIGRATIONS: readonly string[] = [
  [TABLES, LEVEL_TABLES, BUDGET_TABLES, ALERT_TABLES, NAME_TABLES, RETENTION_TABLE, KEPT_TABLES, LOSS_TABLE].join('\n'),
  // The same columns and indexes as in SQLite.
  `ALTER TABLE inf_gw.holds ADD COLUMN end_user text;
DROP INDEX inf_gw.keys_by_parent;
CREATE INDEX keys_by_parent ON inf_gw.keys (parent_id, created_at_ms) WHERE parent_id IS NOT NULL;
CREATE INDEX live_keys_by_parent ON inf_gw.keys (parent_id, id) WHERE parent_id IS NOT NULL AND state <> 'deleted';`,
  '',
];

const FUNCTION = `SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'inf_gw'::regnamespace`;

/** Grants gateway roles the new functions and read access to the new tables. */
const GRANT_AGAIN = `DO $$
DECLARE
  v_role text; f regprocedure;
BEGIN
  FOR v_role IN SELECT DISTINCT a.grantee::regrole::text FROM pg_proc p, aclexplode(p.proacl) a
    WHERE p.pronamespace = 'inf_gw'::regnamespace AND p.proname = 'append'
      AND a.grantee <> p.proowner AND a.grantee <> 0
  LOOP
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA inf_gw TO %s', v_role);
    FOR f IN ${FUNCTION} AND p.proname IN (${GATEWAY_FUNCTIONS}) LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', f, v_role);
    END LOOP;
  END LOOP;
END $$;`;

/**
 * All functions, as of the last step. Gateways of earlier versions keep running during an upgrade: their functions keep
 * their parameters and results. A function with a new signature gets a new name.
 */
export const FUNCTIONS = [
  LEVELS,
  SETTLE,
  NODES,
  UPKEEP,
  BUDGETS,
  CLOCK,
  LOG,
  REBUILD,
  ALERTS,
  NAMES,
  KEPT,
  LOSSES,
  RIGHTS,
  GRANT_AGAIN,
  'SELECT inf_gw.make_partitions();',
].join('\n');
