/** What the audits of both stores share: what a check is, what it has found, and how it asks. */

export interface Check {
  readonly name: string;
  /** The number of rows that were checked. */
  readonly rows: number;
  /** What does not agree, {@link MAX_DIFFERENCES} at most; empty if everything agrees. */
  readonly differences: readonly string[];
  /** What operators have taken note of. */
  readonly notes?: readonly string[];
}

export interface AuditOptions {
  /** Called with the number of journal rows read so far, and the number of all. */
  onProgress(read: number, of: number): void;
}

/** The number of differences that a check lists. A last line gives the number of the others. */
export const MAX_DIFFERENCES = 20;

export type Row = Readonly<Record<string, bigint | string | null>>;

/** Runs a query and returns its rows: integers as bigints, and no booleans. */
export type Read = (text: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;

/** `unlisted`: differences that were found, but are not among those given. */
export function check(name: string, rows: number, differences: readonly string[], unlisted = 0): Check {
  const more = differences.length + unlisted - MAX_DIFFERENCES;
  const named = differences.slice(0, MAX_DIFFERENCES);
  return { name, rows, differences: more > 0 ? [...named, `and ${more} more`] : named };
}

/** No amount is larger than a billion USD. */
export const MAX_NANOS = 10n ** 18n;

/** Differences as they are found: the first are listed, the others counted. */
export class Differences {
  readonly listed: string[] = [];
  unlisted = 0;

  /** `unlisted`: others that were found, and are not among those given. */
  add(differences: readonly string[], unlisted = 0): void {
    const room = MAX_DIFFERENCES - this.listed.length;
    this.listed.push(...differences.slice(0, room));
    this.unlisted += Math.max(0, differences.length - room) + unlisted;
  }
}

/** What the walk through the journal has found. */
export class JournalFindings {
  rows = 0;
  /** Rows that were dropped, and whose sums were sealed. */
  sealedRows = 0;
  dayRows = 0;
  monthRows = 0;
  readonly rowDifferences = new Differences();
  readonly dayDifferences = new Differences();
  readonly monthDifferences = new Differences();
  /** The cost of all requests, those of dropped rows included. */
  costNanos = 0n;
}

/** What the stores write differently. */
export interface AuditDialect {
  /** Before the name of each table. */
  readonly schema: string;
  /** The UTC day of `admitted_at_ms` in the journal `j`. */
  readonly day: string;
  /** A join with the texts of an array of JSON, as `l` with the column `value`. */
  eachIn(ids: string): string;
  /** A text that is compared with that of the sums. */
  collated(text: string): string;
  /** The place of a sign in a text, from 1 on. */
  readonly indexOf: string;
  readonly greatest: string;
  /** The number of stored sums of levels that one query may sort: SQLite sorts in memory, PostgreSQL also on disk. */
  readonly sumsAtOnce: number;
  /** Tables with a `key_id` that must be that of a key or a group. */
  readonly tablesOfKeys: readonly string[];
}

/** Asks one query after the other, and gets its rows. */
export type Queries<Result = Check> = Generator<string, Result, readonly Row[]>;
