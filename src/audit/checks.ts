/** What the audits of both stores share: what a check is, and those that compare the same figures. */
import { formatUsd } from '../core/money.ts';

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

/** What the walk through the journal has found. */
export interface JournalFindings {
  readonly rows: number;
  /** Rows that were dropped, and whose sums were sealed. */
  readonly sealedRows: number;
  readonly dayRows: number;
  readonly monthRows: number;
  readonly rowDifferences: Differences;
  readonly dayDifferences: Differences;
  readonly monthDifferences: Differences;
  /** The cost of all requests, those of dropped rows included. */
  readonly costNanos: bigint;
}

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

export function journalChecks(findings: JournalFindings): { rows: Check; days: Check; months: Check } {
  const of = (name: string, rows: number, { listed, unlisted }: Differences) => check(name, rows, listed, unlisted);
  return {
    rows: of('journal rows', findings.rows, findings.rowDifferences),
    days: of('sums by day', findings.dayRows, findings.dayDifferences),
    months: of('sums by month', findings.monthRows, findings.monthDifferences),
  };
}

/**
 * The balance is the sum of the credit entries less the costs in the journal, those of dropped
 * rows included. `balances` has one for each account, `credit` the sum and the number of entries.
 */
export function balanceCheck(
  balances: readonly bigint[],
  credit: { readonly nanos: bigint; readonly rows: number },
  { costNanos, rows, sealedRows }: JournalFindings,
): Check {
  const expected = credit.nanos - costNanos;
  const [actual] = balances;
  const differences = balances.length === 1 ? [] : [`there are ${balances.length} accounts, not one`];
  if (actual !== undefined && actual !== expected) {
    differences.push(`the balance is ${formatUsd(actual)} USD, but credit less costs is ${formatUsd(expected)} USD`);
  }
  return check('balance', credit.rows + rows + sealedRows, differences);
}

/** No amount is larger than a billion USD. */
export const MAX_NANOS = 10n ** 18n;

/** A credit entry that meets this is out of range: each is within it, and none is zero. */
export const INVALID_ENTRY = `amount_nanos = 0 OR amount_nanos NOT BETWEEN -${MAX_NANOS} AND ${MAX_NANOS}
  OR balance_nanos NOT BETWEEN -${MAX_NANOS} AND ${MAX_NANOS}`;

/** `invalid`: the entries that meet {@link INVALID_ENTRY}, by their `id`. */
export function creditCheck(rows: number, invalid: readonly Row[]): Check {
  return check(
    'credit entries',
    rows,
    invalid.map(({ id }) => `entry ${id} has an amount or a balance out of range`),
  );
}

/**
 * A request is either in flight or in the journal, never both. `holds` has the columns of the table,
 * and `ended`: 1 if the journal has it.
 */
export function holdDifferences(holds: readonly Row[]): string[] {
  return holds.flatMap(({ request_id: id, ended, hold_nanos: nanos, input_tokens: input, output_tokens: output }) => [
    ...(ended === 1n ? [`request ${id} has a hold, but it is in the journal`] : []),
    ...([nanos, input, output].some((figure) => (figure as bigint) < 0n) ? [`the hold of ${id} is negative`] : []),
  ]);
}

/** Every key that has a row exists: the keys in `missing` do not. */
export function missingKeys(missing: readonly Row[]): string[] {
  return missing.map(({ key_id: id }) => `the key ${id} has requests or budgets, but does not exist`);
}
