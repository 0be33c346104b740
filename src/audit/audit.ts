/**
 * The auditor: proves on a state file that balance, sums, holds and journal agree. It shares no code with the ledger,
 * not even its way to SQLite, so that a fault there cannot hide itself here.
 */
import { DatabaseSync } from 'node:sqlite';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { type Findings, JournalWalk, MAX_NANOS } from './journal.ts';

/** One thing that was proved, or not. */
export interface Check {
  readonly name: string;
  /** How many rows were looked at. */
  readonly rows: number;
  /** What does not agree; empty where everything does. At most {@link MAX_DIFFERENCES} of them are named. */
  readonly differences: readonly string[];
}

export interface AuditOptions {
  /** Told how many rows of the journal were read so far, and how many there are. */
  onProgress(read: number, of: number): void;
}

/** How many differences of a kind are named; the last line says how many more there are. */
const MAX_DIFFERENCES = 20;
/** The schema that this auditor knows. */
const KNOWN_VERSION = 3n;

type Row = Record<string, bigint | string | null>;

/** Audits a state file, also that of a running gateway: all is read as of one moment. Throws a UserError. */
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
        `this is version ${version?.user_version} of the state file; this inf-gw audits version ${KNOWN_VERSION}`,
      );
    }
    const findings = this.#walk();
    const { rows, rowFaults, dayRows, dayDifferences, monthRows, monthDifferences } = findings;
    return [
      this.#file(),
      check('journal rows', rows, rowFaults),
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

  /** The balance is the sum of the credit entries less the sum of the journal's costs, those of dropped rows too. */
  #balance({ costNanos, rows, sealedRows }: Findings): Check {
    const accounts = this.#all('SELECT balance_nanos FROM account');
    const [credit] = this.#all('SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM credit_entries');
    const expected = (credit?.nanos as bigint) - costNanos;
    const actual = accounts[0]?.balance_nanos as bigint | undefined;
    const differences = accounts.length === 1 ? [] : [`there are ${accounts.length} accounts instead of one`];
    if (actual !== undefined && actual !== expected) {
      differences.push(`the balance is ${formatUsd(actual)} USD, but credit less costs is ${formatUsd(expected)} USD`);
    }
    return check('balance', Number(credit?.rows) + rows + sealedRows, differences);
  }

  /** Each entry is within range, and none is nothing. */
  #credit(): Check {
    const rows = this.#all('SELECT id, amount_nanos AS amount, balance_nanos AS balance FROM credit_entries');
    const faulty = rows.filter(({ amount, balance }) => amount === 0n || isTooLarge(amount) || isTooLarge(balance));
    return check(
      'credit entries',
      rows.length,
      faulty.map(({ id }) => `entry ${id} has an amount or a balance out of range`),
    );
  }

  /** A request is either under way or in the journal, never both. */
  #holds(): Check {
    const rows = this.#all(
      `SELECT request_id, hold_nanos, input_tokens, output_tokens,
         EXISTS (SELECT 1 FROM journal WHERE journal.request_id = holds.request_id) AS ended FROM holds`,
    );
    const differences = rows.flatMap(({ request_id: id, ended, hold_nanos: nanos, ...tokens }) => [
      ...(ended === 1n ? [`request ${id} is held, though it stands in the journal`] : []),
      ...([nanos, ...Object.values(tokens)].some((figure) => (figure as bigint) < 0n)
        ? [`the hold of ${id} is negative`]
        : []),
    ]);
    return check('holds', rows.length, differences);
  }

  /** Whoever has a row exists. */
  #keys(): Check {
    const known = new Set(this.#all('SELECT id FROM keys').map((row) => row.id));
    // The sums by day have a row for every key that has one in the journal: that was proved before.
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
