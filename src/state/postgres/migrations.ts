/** Migrates a database to the current schema, one process at a time. */

import type pg from 'pg';
import { UserError } from '../../core/errors.ts';
import { FUNCTIONS, MIGRATIONS } from './schema.ts';

/** The advisory lock of migrations: an arbitrary number that other programs do not use. */
const LOCK = 7_402_118_300;

/** The schema version; 0 without tables. */
export async function schemaVersion(client: pg.ClientBase): Promise<number> {
  // Not `to_regclass`: within a transaction it may answer from a cache older than the wait for the lock.
  const exists = await client.query<{ exists: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'inf_gw' AND tablename = 'migrations') AS exists`,
  );
  if (exists.rows[0]?.exists !== true) return 0;
  const { rows } = await client.query<{ version: number }>('SELECT max(version) AS version FROM inf_gw.migrations');
  return rows[0]?.version ?? 0;
}

/**
 * Creates or migrates the tables if necessary. Returns whether they are new. Throws a UserError if a newer version of the
 * program has migrated them, and a database error if the user lacks privileges.
 */
export async function migrate(client: pg.ClientBase): Promise<boolean> {
  const before = await schemaVersion(client);
  assertKnown(before);
  if (before === MIGRATIONS.length) return false;
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const version = await schemaVersion(client);
    assertKnown(version);
    if (version === 0) {
      await client.query('CREATE SCHEMA IF NOT EXISTS inf_gw');
      await client.query(`CREATE TABLE inf_gw.migrations (
        version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
    }
    for (const [index, step] of MIGRATIONS.entries()) {
      if (index < version) continue;
      await client.query(step);
      await client.query('INSERT INTO inf_gw.migrations (version) VALUES ($1)', [index + 1]);
    }
    if (version < MIGRATIONS.length) await client.query(FUNCTIONS);
    await client.query('COMMIT');
    return version === 0;
  } catch (error) {
    // If the connection is lost, the server rolls back.
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

function assertKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  throw new UserError(
    `the tables in the database have version ${version}, which is newer than this program: it knows ${MIGRATIONS.length}; ` +
      'use the version of inf-gw that has migrated them, or a newer one',
  );
}
