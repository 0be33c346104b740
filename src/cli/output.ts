/** What the commands print: aligned tables for people, one JSON document for programs. */
import { styleText } from 'node:util';
import { COLUMN_GAP, fittingColumns } from '../operator/columns.ts';
import { pad, widthOf } from '../operator/text.ts';

/** A column of text, or of figures, which are aligned to the right. */
export interface Column {
  readonly head: string;
  readonly number?: true;
  /** Amounts in USD: figures that are shown with the same number of decimals. */
  readonly usd?: true;
  /** Where the terminal is too narrow, the columns of the highest rank are dropped first. */
  readonly rank?: number;
}

/** Prints a notice or an error on stderr: it is not a result, and must not end up in a pipe. */
export function notice(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints one JSON document, and nothing else. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Prints an aligned table that fits the terminal, or every column if the output is no terminal. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const table = columns.map((column, i) => {
    const raw = rows.map((row) => row[i] ?? '');
    const cells = column.usd ? sameDecimals(raw) : raw;
    return { ...column, cells, width: largest([column.head, ...cells].map(widthOf)) };
  });
  const shown = fittingColumns(table, process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY);
  const line = (cellOf: (column: (typeof table)[number]) => string) =>
    shown
      .map((column) => pad(cellOf(column), column.width, column.number || column.usd ? 'right' : 'left'))
      .join(' '.repeat(COLUMN_GAP))
      .trimEnd();
  printLine([bold(line(({ head }) => head)), ...rows.map((_, i) => line(({ cells }) => cells[i] ?? ''))].join('\n'));
  if (shown.length < table.length) notice(dim('Some columns do not fit this terminal; use --json to see them all.'));
}

/** Not `Math.max(...numbers)`: a long table has more rows than a call can have arguments. */
function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

/** Pads fractions with zeros, so that amounts can be compared at a glance. */
function sameDecimals(amounts: readonly string[]): string[] {
  const decimals = largest(amounts.map((amount) => amount.split('.')[1]?.length ?? 0));
  return amounts.map((amount) => {
    const [whole = '', fraction] = amount.split('.');
    return fraction === undefined ? amount : `${whole}.${fraction.padEnd(decimals, '0')}`;
  });
}

/** Prints names and values below each other. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): void {
  const width = largest(fields.map(([name]) => widthOf(name)));
  for (const [name, value] of fields) printLine(`${dim(pad(name, width))}  ${value}`);
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

export function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}
