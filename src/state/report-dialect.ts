/** What reports need to know of a store's SQL. */

/** How a store writes what the stores write differently. */
export interface ReportDialect {
  table(name: 'keys' | 'journal' | 'usage_days' | 'usage_months' | 'usage_name_keys' | 'usage_name_days'): string;
  /** Stands for the parameter with that number, from 1. */
  placeholder(number: number): string;
  /** The UTC day, and the month, in which a row of the journal was admitted. */
  readonly admissionDay: string;
  readonly admissionMonth: string;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly (string | number)[];
}
