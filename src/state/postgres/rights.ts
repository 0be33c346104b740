/** Who may do what in a shared state: an operator owns it, and a gateway calls functions and reads. */
import pg from 'pg';

/** What a gateway calls. They run with the owner's rights, so that its role needs none on tables. */
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

/** Closes the functions to everybody but the owner, and lets those of a gateway act for the owner. */
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

/** Gives a role what a gateway needs, and takes away whatever else it has. `role` is a quoted identifier. */
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
