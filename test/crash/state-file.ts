/** Reads a state file without the program's own code. */
import Database from 'better-sqlite3';
import { audit } from '../../src/audit/audit.ts';

/** A row of the journal. */
export interface Row {
  readonly id: bigint;
  readonly request_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly admitted_at_ms: bigint;
  readonly settled_at_ms: bigint;
  readonly outcome: string;
  readonly source: string;
  readonly prompt_tokens: bigint;
  readonly cached_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cost_nanos: bigint;
}

export interface Credit {
  readonly id: bigint;
  readonly amount_nanos: bigint;
  readonly note: string;
}

/** The content of the file at one moment. */
export interface Snapshot {
  /** In order of their ends. */
  readonly journal: readonly Row[];
  /** The hold of each open request in nanodollars, by its id. */
  readonly holds: ReadonlyMap<string, bigint>;
  readonly credit: readonly Credit[];
  readonly balanceNanos: bigint;
}

/** From where to continue reading. */
export interface Position {
  readonly journalId: bigint;
  readonly creditId: bigint;
}

export const START: Position = { journalId: -1n, creditId: -1n };

/** The rows of journal and credit after that position, and all holds. */
export function readState(path: string, after: Position = START): Snapshot {
  const database = new Database(path, { readonly: true, timeout: 5_000 }).defaultSafeIntegers();
  try {
    database.exec('BEGIN');
    const holds = database.prepare('SELECT request_id, hold_nanos FROM holds').raw().all() as [string, bigint][];
    const balanceNanos = database.prepare('SELECT balance_nanos FROM account').pluck().get() as bigint;
    return {
      journal: database.prepare('SELECT * FROM journal WHERE id > ? ORDER BY id').all(after.journalId) as Row[],
      holds: new Map(holds),
      credit: database
        .prepare('SELECT id, amount_nanos, note FROM credit_entries WHERE id > ? ORDER BY id')
        .all(after.creditId) as Credit[],
      balanceNanos,
    };
  } finally {
    database.close();
  }
}

/** The differences that the auditor finds. */
export function auditDifferences(path: string): string[] {
  const checks = audit(path, { onProgress: () => {} });
  return checks.flatMap(({ name, differences }) => differences.map((difference) => `${name}: ${difference}`));
}
