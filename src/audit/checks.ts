/** Types shared by the audits of both stores: checks, findings and queries. */

export interface Check {
  readonly name: string;
  /** Number of checked rows. */
  readonly rows: number;
  /** Differences found, at most {@link MAX_DIFFERENCES} and a line with the number of the others. */
  readonly differences: readonly string[];
  /** Losses that an operator has accepted. */
  readonly notes?: readonly string[];
}

export interface AuditOptions {
  /** Called with the number of journal rows read, and their total. */
  onProgress(read: number, of: number): void;
}

/** Maximum listed differences per check. A last line has the number of the others. */
export const MAX_DIFFERENCES = 20;

export type Row = Readonly<Record<string, bigint | string | null>>;

/** Runs a query and returns its rows, with integers as bigints and no booleans. */
export type Read = (text: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;

/** `unlisted`: the number of differences found beyond those given. */
export function check(name: string, rows: number, differences: readonly string[], unlisted = 0): Check {
  const more = differences.length + unlisted - MAX_DIFFERENCES;
  const named = differences.slice(0, MAX_DIFFERENCES);
  return { name, rows, differences: more > 0 ? [...named, `and ${more} more`] : named };
}

/** Maximum amount: a billion USD. */
export const MAX_NANOS = 10n ** 18n;

/** Collects differences: lists the first ones, counts the others. */
export class Differences {
  readonly listed: string[] = [];
  unlisted = 0;

  /** `unlisted`: the number of differences found beyond those given. */
  add(differences: readonly string[], unlisted = 0): void {
    const room = MAX_DIFFERENCES - this.listed.length;
    this.listed.push(...differences.slice(0, room));
    this.unlisted += Math.max(0, differences.length - room) + unlisted;
  }
}

/** Findings of the pass over the journal. */
export class JournalFindings {
  rows = 0;
  /** Number of dropped rows, whose sums were sealed. */
  sealedRows = 0;
  dayRows = 0;
  monthRows = 0;
  readonly rowDifferences = new Differences();
  readonly dayDifferences = new Differences();
  readonly monthDifferences = new Differences();
  /** The cost of all requests, including dropped rows. */
  costNanos = 0n;
}

/** SQL that differs between the stores. */
export interface AuditDialect {
  /** Prefix of table names. */
  readonly schema: string;
  /** The UTC day of `admitted_at_ms` in the journal `j`. */
  readonly day: string;
  /** A join with the strings in a JSON array, as `l` with the column `value`. */
  eachIn(ids: string): string;
  /** Gives a text the collation of the sums. */
  collated(text: string): string;
  /** Function that returns the 1-based position of a substring. */
  readonly indexOf: string;
  readonly greatest: string;
  /** Maximum stored level sums that one query may sort: SQLite sorts in memory, PostgreSQL also on disk. */
  readonly sumsAtOnce: number;
  /** Tables whose `key_id` must be an existing key or group. */
  readonly tablesOfKeys: readonly string[];
}

/** Yields one query after another, and receives its rows. */
export type Queries<Result = Check> = Generator<string, Result, readonly Row[]>;
