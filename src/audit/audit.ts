/**
 * The auditor: checks that balance, sums, holds and journal of a state file agree. It shares no
 * code with the ledger, not even the SQLite package, so that a bug in the ledger cannot hide itself
 * here.
 */
import { DatabaseSync } from 'node:sqlite';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { type Findings, JournalWalk, MAX_NANOS } from './journal.ts';

/** The result of one check. */
export interface Check {
  readonly name: string;
  /** The number of rows that were checked. */
  readonly rows: number;
  /** What does not agree, {@link MAX_DIFFERENCES} at most; empty if everything agrees. */
  readonly differences: readonly string[];
}

export interface AuditOptions {
  /** Called with the number of journal rows read so far, and the number of all. */
  onProgress(read: number, of: number): void;
}

/** The number of differences that a check lists. A last line gives the number of the others. */
const MAX_DIFFERENCES = 20;
/** The schema version that this auditor can read. */
const KNOWN_VERSION = 5n;

type Row = Record<string, bigint | string | null>;

/** Audits a state file, as of one moment: a gateway may be running. Throws a UserError. */
export function audit(path: string, options: AuditOptions): Check[] {
  const database = open(path);
  try {
    database.exec('BEGIN');
    return new Auditor(database, options).run();
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot audit ${path}: ${(error as Error).message}`);
  } finally {
    database.close();
  }
}

function open(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true, timeout: 5_000, readBigInts: true });
  } catch (error) {
    throw new UserError(`cannot open the state file ${path}: ${(error as Error).message}`);
  }
}

class Auditor {
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
    const { rows, rowDifferences, dayRows, dayDifferences, monthRows, monthDifferences } = findings;
    return [
      this.#file(),
      check('journal rows', rows, rowDifferences),
      this.#balance(findings),
      this.#credit(),
      check('sums by day', dayRows, dayDifferences),
      check('sums by month', monthRows, monthDifferences),
      this.#holds(),
      this.#keys(),
    ];
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

  #walk(): Findings {
    const [journal] = this.#all('SELECT count(*) AS rows FROM journal');
    const total = Number(journal?.rows);
    return new JournalWalk(this.#database).run((read) => this.#options.onProgress(read, total));
  }

  /**
   * The balance is the sum of the credit entries less the costs in the journal, those of dropped
   * rows included.
   */
  #balance({ costNanos, rows, sealedRows }: Findings): Check {
    const accounts = this.#all('SELECT balance_nanos FROM account');
    const [credit] = this.#all('SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM credit_entries');
    const expected = (credit?.nanos as bigint) - costNanos;
    const actual = accounts[0]?.balance_nanos as bigint | undefined;
    const differences = accounts.length === 1 ? [] : [`there are ${accounts.length} accounts, not one`];
    if (actual !== undefined && actual !== expected) {
      differences.push(`the balance is ${formatUsd(actual)} USD, but credit less costs is ${formatUsd(expected)} USD`);
    }
    return check('balance', Number(credit?.rows) + rows + sealedRows, differences);
  }

  /** Each entry is within range, and none is zero. */
  #credit(): Check {
    const rows = this.#all('SELECT id, amount_nanos AS amount, balance_nanos AS balance FROM credit_entries');
    const wrong = rows.filter(({ amount, balance }) => amount === 0n || isTooLarge(amount) || isTooLarge(balance));
    return check(
      'credit entries',
      rows.length,
      wrong.map(({ id }) => `entry ${id} has an amount or a balance out of range`),
    );
  }

  /** A request is either in flight or in the journal, never both. */
  #holds(): Check {
    const rows = this.#all(
      `SELECT request_id, hold_nanos, input_tokens, output_tokens,
         EXISTS (SELECT 1 FROM journal WHERE journal.request_id = holds.request_id) AS ended FROM holds`,
    );
    const differences = rows.flatMap(({ request_id: id, ended, hold_nanos: nanos, ...tokens }) => [
      ...(ended === 1n ? [`request ${id} has a hold, but it is in the journal`] : []),
      ...([nanos, ...Object.values(tokens)].some((figure) => (figure as bigint) < 0n)
        ? [`the hold of ${id} is negative`]
        : []),
    ]);
    return check('holds', rows.length, differences);
  }

  /** Every key that has a row exists. */
  #keys(): Check {
    const known = new Set(this.#all('SELECT id FROM keys').map((row) => row.id));
    // Every key in the journal is in the sums by day, as another check has shown.
    const named = this.#all(
      'SELECT key_id FROM usage_days UNION SELECT key_id FROM holds UNION SELECT key_id FROM refusals',
    );
    const missing = named.map((row) => String(row.key_id)).filter((id) => !known.has(id));
    return check(
      'keys',
      known.size,
      missing.map((id) => `the key ${id} has requests, but does not exist`),
    );
  }

  #all(sql: string): Row[] {
    return this.#database.prepare(sql).all() as Row[];
  }
}

function isTooLarge(nanos: bigint | string | null | undefined): boolean {
  return typeof nanos === 'bigint' && (nanos > MAX_NANOS || nanos < -MAX_NANOS);
}

function check(name: string, rows: number, differences: readonly string[]): Check {
  const more = differences.length - MAX_DIFFERENCES;
  const named = differences.slice(0, MAX_DIFFERENCES);
  return { name, rows, differences: more > 0 ? [...named, `and ${more} more`] : named };
}
