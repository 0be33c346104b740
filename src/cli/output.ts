/** What the commands print: aligned tables with units for people, one JSON document for programs. */
import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { formatUsd, type Nanos } from '../core/money.ts';

/** A column: its head, and whether its cells are numbers. */
export interface Column {
  readonly head: string;
  readonly number?: true;
}

/** Prints one JSON document, and nothing else. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** For what is no result: notices and warnings, which must not get into a pipe. */
export function notice(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints an aligned table. Numbers are aligned to the right. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const widths = columns.map((column, i) =>
    Math.max(...[column.head, ...rows.map((row) => row[i] ?? '')].map(widthOf)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => aligned(cell, widths[i] ?? 0, columns[i]?.number === true))
      .join('  ')
      .trimEnd();
  printLine(bold(line(columns.map((column) => column.head))));
  for (const row of rows) printLine(line(row));
}

/** Prints names and values under each other. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): void {
  const width = Math.max(...fields.map(([name]) => widthOf(name)));
  for (const [name, value] of fields) printLine(`${dim(aligned(name, width, false))}  ${value}`);
}

/** Prints rows as comma-separated values, quoted where they need it. */
export function printCsv(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  for (const row of [heads, ...rows]) printLine(row.map(csvCell).join(','));
}

function csvCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function aligned(cell: string, width: number, toTheRight: boolean): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return toTheRight ? padding + cell : cell + padding;
}

function widthOf(cell: string): number {
  return stringWidth(cell);
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}

/** 1234567 as `1,234,567`. */
export function count(number: number): string {
  return number.toLocaleString('en-US');
}

export function usd(nanos: Nanos): string {
  return `${formatUsd(nanos)} USD`;
}
