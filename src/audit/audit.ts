/**
 * The audit: checks that balance, sums, holds and journal of a state agree. It shares no code with
 * the ledger, not even the SQLite package, so that a bug in the ledger cannot hide itself here.
 */
import type { DatabaseSync } from 'node:sqlite';
import { UserError } from '../core/errors.ts';
import type { AuditOptions, Check, Read } from './checks.ts';
import { openToLook } from './open.ts';
import { DatabaseAuditor } from './postgres/auditor.ts';
import { FileAuditor } from './sqlite/auditor.ts';

export type { Check } from './checks.ts';

/** Audits a state file, as of one moment: a gateway may be running. Throws a UserError. */
export function audit(path: string, options: AuditOptions): Check[] {
  const database = open(path);
  try {
    database.exec('BEGIN');
    return new FileAuditor(database, options).run();
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot audit ${path}: ${(error as Error).message}`);
  } finally {
    database.close();
  }
}

/**
 * Audits the tables of a shared state. `read` runs a query: all of them in one transaction that sees
 * one moment, so gateways may be running. Rejects with a UserError, and with what `read` rejects with.
 */
export function auditDatabase(read: Read, options: AuditOptions): Promise<Check[]> {
  return new DatabaseAuditor(read, options).run();
}

function open(path: string): DatabaseSync {
  try {
    return openToLook(path);
  } catch (error) {
    throw new UserError(`cannot open the state file ${path}: ${(error as Error).message}`);
  }
}
