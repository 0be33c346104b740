/**
 * The audit: checks that balance, sums, holds and journal of a state agree. It shares no code with the ledger, so that a bug in
 * the ledger cannot hide here.
 */
import { UserError } from '../core/errors.ts';
import type { AuditOptions, Check } from './checks.ts';
import { openToLook, type Sqlite } from './open.ts';
import { auditFile } from './sqlite/auditor.ts';

export type { Check } from './checks.ts';
export { auditDatabase } from './postgres/auditor.ts';

/** Audits a state file, as of one moment: a gateway may be running. Throws a UserError. */
export function audit(path: string, options: AuditOptions): Check[] {
  const database = open(path);
  try {
    database.exec('BEGIN');
    return auditFile(database, options);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot audit ${path}: ${(error as Error).message}`);
  } finally {
    database.close();
  }
}

function open(path: string): Sqlite {
  try {
    return openToLook(path);
  } catch (error) {
    throw new UserError(`cannot open the state file ${path}: ${(error as Error).message}`);
  }
}
