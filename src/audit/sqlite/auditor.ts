/** Audits a state file. */
import { UserError } from '../../core/errors.ts';
import { commonChecks, journalDays } from '../auditor.ts';
import { type AuditDialect, type AuditOptions, type Check, check, type Queries, type Row } from '../checks.ts';
import type { Sqlite } from '../open.ts';
import { walkJournal } from './journal.ts';

/** The schema version that this auditor can read. */
export const KNOWN_VERSION = 3n;

export const FILE_DIALECT: AuditDialect = {
  schema: '',
  day: "strftime('%Y-%m-%d', j.admitted_at_ms / 1000, 'unixepoch')",
  eachIn: (ids) => `JOIN json_each(${ids}) AS l`,
  collated: (text) => text,
  indexOf: 'instr',
  greatest: 'max',
  sumsAtOnce: 500_000,
  tablesOfKeys: ['usage_days', 'holds', 'refusals', 'kept_responses'],
};

/** Throws a UserError for a file of another version. */
export function auditFile(database: Sqlite, { onProgress }: AuditOptions): Check[] {
  const all = (sql: string) => database.prepare(sql).all() as Row[];
  const answer = <Result>(queries: Queries<Result>): Result => {
    let step = queries.next();
    while (step.done !== true) step = queries.next(all(step.value));
    return step.value;
  };
  const [version] = all('PRAGMA user_version');
  if (version?.user_version !== KNOWN_VERSION) {
    throw new UserError(
      `the state file has schema version ${version?.user_version}; this inf-gw audits version ${KNOWN_VERSION}`,
    );
  }
  const [journal] = all('SELECT count(*) AS rows FROM journal');
  const total = Number(journal?.rows);
  const findings = walkJournal(database, answer(journalDays(FILE_DIALECT)), (read) => onProgress(read, total));
  const { journal: rows, money, holds, keys } = answer(commonChecks(FILE_DIALECT, findings));
  return [pages(all), rows, ...money, holds, keys];
}

/** SQLite's own check of the file's pages and indexes. */
function pages(all: (sql: string) => readonly Row[]): Check {
  const lines = all('PRAGMA quick_check').map((row) => String(Object.values(row)[0]));
  const [found] = all('PRAGMA page_count');
  return check(
    'file',
    Number(found?.page_count),
    lines.filter((line) => line !== 'ok'),
  );
}
