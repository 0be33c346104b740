/**
 * Audits a state: balance, sums, holds and journal must agree. It shares no code with the ledger, so that the same bug cannot
 * affect both.
 */
import { UserError } from '../core/errors.ts';
import type { AuditOptions, Check } from './checks.ts';
import { openToLook, type Sqlite } from './open.ts';
import { auditFile } from './sqlite/auditor.ts';

export type { Check } from './checks.ts';
export { auditDatabase } from './postgres/auditor.ts';

/** Audits a state file in one read transaction, so a gateway may keep running. Throws a UserError. */
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
