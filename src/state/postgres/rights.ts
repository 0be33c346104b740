/** Privileges in a shared state: an operator owns the tables; a gateway calls functions and reads. */
import pg from 'pg';

/**
 * The functions that gateways call. They run with the owner's privileges, so that a gateway's role needs none for writing
 * tables.
 */
export const GATEWAY_FUNCTIONS = [
  'append',
  'write_for',
  'shut_out',
  'cut_log',
  'rebuild',
  'settle_late',
  'join_node',
  'beat',
  'leave_node',
  'reap',
  'follow_clock',
  'count_refusals',
  'make_partitions',
  'drop_old_rows',
  'drop_idle_users',
  'change_alert',
  'claim_alert',
  'settle_alert',
  'release_alerts',
  'keep_response',
  'drop_kept_response',
  'record_loss',
]
  .map((name) => `'${name}'`)
  .join(', ');

/** Revokes the functions from all roles except the owner, and makes the functions of gateways SECURITY DEFINER. */
export const RIGHTS = `
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA inf_gw FROM PUBLIC;
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'inf_gw'::regnamespace
    AND p.proname IN (${GATEWAY_FUNCTIONS})
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', f);
  END LOOP;
END $$;
`;

/** Grants a role the privileges of a gateway, and revokes all others. `role` is a quoted identifier. */
export function grantsFor(role: string): readonly string[] {
  const execute = `DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'inf_gw'::regnamespace AND p.proname IN (${GATEWAY_FUNCTIONS})
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', f, ${pg.escapeLiteral(role)});
  END LOOP;
END`;
  return [
    ...['TABLES', 'SEQUENCES', 'FUNCTIONS'].map((kind) => `REVOKE ALL ON ALL ${kind} IN SCHEMA inf_gw FROM ${role}`),
    `REVOKE ALL ON SCHEMA inf_gw FROM ${role}`,
    `GRANT USAGE ON SCHEMA inf_gw TO ${role}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA inf_gw TO ${role}`,
    `DO ${pg.escapeLiteral(execute)}`,
  ];
}
