/** The checks of a state file. */
import type { DatabaseSync } from 'node:sqlite';
import { UserError } from '../../core/errors.ts';
import { budgetCheck, budgetQueries } from '../budgets.ts';
import {
  type AuditOptions,
  balanceCheck,
  type Check,
  check,
  creditCheck,
  holdDifferences,
  INVALID_ENTRY,
  type JournalFindings,
  journalChecks,
  missingKeys,
  type Row,
} from '../checks.ts';
import { type LevelDialect, levelQueries } from '../levels.ts';
import { nameQueries } from '../names.ts';
import { JournalWalk } from './journal.ts';

/** The schema version that this auditor can read. */
export const KNOWN_VERSION = 1n;

const EACH_LEVEL = 'JOIN json_each(j.levels) AS l';

const BUDGETS = budgetQueries({
  table: (name) => name,
  greatest: 'max',
  materialized: 'MATERIALIZED',
  eachLevel: EACH_LEVEL,
  level: 'l.value',
  indexOf: 'instr',
});

const LEVELS: LevelDialect = {
  schema: '',
  day: "strftime('%Y-%m-%d', j.admitted_at_ms / 1000, 'unixepoch')",
  eachLevel: EACH_LEVEL,
  collated: (text) => text,
};

export class FileAuditor {
  readonly #database: DatabaseSync;
  readonly #options: AuditOptions;
  constructor(database: DatabaseSync, options: AuditOptions) {
    this.#database = database;
    this.#options = options;
  }

  run(): Check[] {
    const [version] = this.#all('PRAGMA user_version');
    if (version?.user_version !== KNOWN_VERSION) {
      throw new UserError(
        `the state file has schema version ${version?.user_version}; this inf-gw audits version ${KNOWN_VERSION}`,
      );
    }
    const findings = this.#walk();
    const { rows, days, months } = journalChecks(findings);
    const money = [
      this.#balance(findings),
      this.#credit(),
      days,
      months,
      this.#levels(),
      this.#names(),
      this.#budgets(),
    ];
    return [this.#file(), rows, ...money, this.#holds(), this.#keys()];
  }

  /** SQLite's own check of the file's pages and indexes. */
  #file(): Check {
    const lines = this.#all('PRAGMA quick_check').map((row) => String(Object.values(row)[0]));
    const [pages] = this.#all('PRAGMA page_count');
    return check(
      'file',
      Number(pages?.page_count),
      lines.filter((line) => line !== 'ok'),
    );
  }

  #walk(): JournalFindings {
    const [journal] = this.#all('SELECT count(*) AS rows FROM journal');
    const total = Number(journal?.rows);
    return new JournalWalk(this.#database).run((read) => this.#options.onProgress(read, total));
  }

  #balance(findings: JournalFindings): Check {
    const accounts = this.#all('SELECT balance_nanos FROM account');
    const [credit] = this.#all('SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM credit_entries');
    const balances = accounts.map((account) => account.balance_nanos as bigint);
    return balanceCheck(balances, { nanos: credit?.nanos as bigint, rows: Number(credit?.rows) }, findings);
  }

  #credit(): Check {
    const [all] = this.#all('SELECT count(*) AS rows FROM credit_entries');
    return creditCheck(Number(all?.rows), this.#all(`SELECT id FROM credit_entries WHERE ${INVALID_ENTRY}`));
  }

  #names(): Check {
    return this.#answer(nameQueries(''));
  }

  #levels(): Check {
    return this.#answer(levelQueries(LEVELS));
  }

  #answer(queries: Generator<string, Check, readonly Row[]>): Check {
    let step = queries.next();
    while (step.done !== true) step = queries.next(this.#all(step.value));
    return step.value;
  }

  #budgets(): Check {
    const [all] = this.#all(BUDGETS.count);
    return budgetCheck(Number(all?.steps), this.#all(BUDGETS.differences));
  }

  #holds(): Check {
    const rows = this.#all(
      `SELECT request_id, hold_nanos, input_tokens, output_tokens,
         EXISTS (SELECT 1 FROM journal WHERE journal.request_id = holds.request_id) AS ended FROM holds`,
    );
    return check('holds', rows.length, holdDifferences(rows));
  }

  #keys(): Check {
    const [all] = this.#all('SELECT count(*) AS rows FROM keys');
    // Every key in the journal is in the sums by day, as another check has shown.
    const missing = this.#all(
      `SELECT key_id FROM (SELECT key_id FROM usage_days UNION SELECT key_id FROM holds UNION SELECT key_id FROM refusals
           UNION SELECT substr(key_id, 1, instr(key_id || '/', '/') - 1) FROM budgets UNION SELECT parent_id FROM keys WHERE parent_id IS NOT NULL
           UNION SELECT group_id FROM keys WHERE group_id IS NOT NULL UNION SELECT group_id FROM groups WHERE group_id IS NOT NULL
           UNION SELECT owner_id FROM users
           UNION SELECT key_id FROM kept_responses)
         WHERE key_id NOT IN (SELECT id FROM keys UNION SELECT id FROM groups)`,
    );
    return check('keys', Number(all?.rows), missingKeys(missing));
  }

  #all(sql: string): Row[] {
    return this.#database.prepare(sql).all() as Row[];
  }
}
