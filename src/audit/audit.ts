/**
 * The auditor: proves on a state file that balance, sums, holds and journal agree. It shares no code with the ledger,
 * not even its way to SQLite, so that a fault there cannot hide itself here.
 */
import { DatabaseSync } from 'node:sqlite';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { DaySums, type JournalRow, MonthSums, type StoredDay, type StoredMonth } from './sums.ts';

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
/** How much of the journal is read at a time. */
const PAGE_ROWS = 20_000;
/** The schema that this auditor knows. */
const KNOWN_VERSION = 1n;
/** No amount is larger than a billion USD. */
const MAX_NANOS = 10n ** 18n;

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
  readonly #days = new DaySums();
  readonly #months = new MonthSums();
  readonly #journalKeys = new Set<string>();
  #journalRows = 0;
  #costNanos = 0n;

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
    const journal = this.#journal();
    return [
      this.#file(),
      journal,
      this.#balance(),
      this.#credit(),
      this.#daySums(),
      this.#monthSums(),
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

  /** Each row by itself; and what all of them come to, for the checks that follow. */
  #journal(): Check {
    const differences: string[] = [];
    const [count] = this.#all('SELECT count(*) AS rows FROM journal');
    const total = Number(count?.rows);
    const page = this.#database.prepare('SELECT * FROM journal WHERE id > ? ORDER BY id LIMIT ?');
    for (let last = -1n; ; ) {
      const rows = page.all(last, PAGE_ROWS) as unknown as JournalRow[];
      for (const row of rows) {
        differences.push(...faultsOf(row));
        this.#add(row);
        last = row.id;
      }
      this.#options.onProgress(this.#journalRows, total);
      if (rows.length < PAGE_ROWS) break;
    }
    return check('journal rows', this.#journalRows, differences);
  }

  #add(row: JournalRow): void {
    this.#journalRows++;
    this.#costNanos += row.cost_nanos;
    this.#journalKeys.add(row.key_id);
    this.#days.add(row);
    this.#months.add(row);
  }

  /** The balance is the sum of the credit entries less the sum of the journal's costs. */
  #balance(): Check {
    const accounts = this.#all('SELECT balance_nanos FROM account');
    const [credit] = this.#all('SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM credit_entries');
    const expected = (credit?.nanos as bigint) - this.#costNanos;
    const actual = accounts[0]?.balance_nanos as bigint | undefined;
    const differences = accounts.length === 1 ? [] : [`there are ${accounts.length} accounts instead of one`];
    if (actual !== undefined && actual !== expected) {
      differences.push(`the balance is ${formatUsd(actual)} USD, but credit less costs is ${formatUsd(expected)} USD`);
    }
    return check('balance', Number(credit?.rows) + this.#journalRows, differences);
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

  #daySums(): Check {
    const rows = this.#all('SELECT * FROM usage_days') as unknown as StoredDay[];
    return check('sums by day', rows.length, this.#days.differences(rows));
  }

  #monthSums(): Check {
    const rows = this.#all('SELECT * FROM usage_months') as unknown as StoredMonth[];
    return check('sums by month', rows.length, this.#months.differences(rows));
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
    const named = new Set([
      ...this.#journalKeys,
      ...this.#all('SELECT key_id FROM holds').map((row) => String(row.key_id)),
    ]);
    const missing = [...named].filter((id) => !known.has(id));
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

const OUTCOMES: ReadonlySet<string> = new Set([
  'ok',
  'cancelled',
  'interrupted',
  'upstream_error',
  'invalid_request',
  'internal_error',
]);

function faultsOf(row: JournalRow): string[] {
  const faults: string[] = [];
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion, cost_nanos: cost } = row;
  if (prompt < 0n || completion < 0n || cost < 0n || isTooLarge(cost)) faults.push('has a figure out of range');
  if (cached < 0n || cached > prompt) faults.push('has more cached tokens than tokens of input');
  if (!OUTCOMES.has(row.outcome)) faults.push(`has the outcome ${row.outcome}, which there is none of`);
  if (row.outcome === 'interrupted' && row.source !== 'held') faults.push('was interrupted, but not charged as held');
  return faults.map((fault) => `request ${row.request_id} ${fault}`);
}

function isTooLarge(nanos: bigint | string | null | undefined): boolean {
  return typeof nanos === 'bigint' && (nanos > MAX_NANOS || nanos < -MAX_NANOS);
}

function check(name: string, rows: number, differences: readonly string[]): Check {
  const more = differences.length - MAX_DIFFERENCES;
  const named = differences.slice(0, MAX_DIFFERENCES);
  return { name, rows, differences: more > 0 ? [...named, `and ${more} more`] : named };
}
