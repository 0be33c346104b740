/** What the commands print: aligned tables with units for people, one JSON document for programs. */
import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import { formatUsd, type Nanos } from '../core/money.ts';

/** A column: its head, and what its cells are. */
export interface Column {
  readonly head: string;
  readonly number?: true;
  /** Amounts of USD: numbers that are shown with the same number of decimals. */
  readonly usd?: true;
  /** Where a terminal is too narrow, columns with a rank are left out, the highest first. */
  readonly rank?: number;
}

/** Prints a notice or warning on stderr: it is no result, and must not get into a pipe. */
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

/** Prints an aligned table, as wide as the terminal at most. Numbers are aligned to the right. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const table = columns.map((column, i) => {
    const raw = rows.map((row) => row[i] ?? '');
    const cells = column.usd ? sameDecimals(raw) : raw;
    return { column, cells, width: largest([column.head, ...cells].map(widthOf)) };
  });
  const shown = fitting(table);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => aligned(cell, shown[i]?.width ?? 0, isNumeric(shown[i]?.column)))
      .join(GAP)
      .trimEnd();
  const head = bold(line(shown.map(({ column }) => column.head)));
  printLine([head, ...rows.map((_, i) => line(shown.map(({ cells }) => cells[i] ?? '')))].join('\n'));
  if (shown.length < table.length) notice(dim('Some columns do not fit here; --json has them all.'));
}

/** Not `Math.max(...)`, which takes only so many arguments. */
function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

const GAP = '  ';

interface TableColumn {
  readonly column: Column;
  readonly cells: readonly string[];
  readonly width: number;
}

/** The columns for which there is room. Where the output is no terminal, there is room for all. */
function fitting(table: readonly TableColumn[]): readonly TableColumn[] {
  const room = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  const needed = table.reduce((sum, { width }) => sum + width, (table.length - 1) * GAP.length);
  const highest = Math.max(...table.map(({ column }) => column.rank ?? 0));
  if (needed <= room || highest === 0) return table;
  return fitting(table.filter(({ column }) => column.rank !== highest));
}

function isNumeric(column: Column | undefined): boolean {
  return column?.number === true || column?.usd === true;
}

/** So that amounts can be compared at a glance. */
function sameDecimals(amounts: readonly string[]): string[] {
  const decimals = largest(amounts.map((amount) => amount.split('.')[1]?.length ?? 0));
  return amounts.map((amount) => {
    const [whole = '', fraction] = amount.split('.');
    return fraction === undefined ? amount : `${whole}.${fraction.padEnd(decimals, '0')}`;
  });
}

/** Prints names and values under each other. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): void {
  const width = Math.max(...fields.map(([name]) => widthOf(name)));
  for (const [name, value] of fields) printLine(`${dim(aligned(name, width, false))}  ${value}`);
}

function aligned(cell: string, width: number, toTheRight: boolean): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return toTheRight ? padding + cell : cell + padding;
}

const require = createRequire(import.meta.url);
let stringWidth: typeof import('string-width').default | undefined;

/**
 * Of letters that are one column wide each it is their number, which is known a hundred times as quickly. The library for all
 * others takes 30 ms to load, a tenth of what a command takes, so it is loaded when a cell needs it.
 */
function widthOf(cell: string): number {
  if (/^[ -~]*$/.test(cell)) return cell.length;
  stringWidth ??= (require('string-width') as typeof import('string-width')).default;
  return stringWidth(cell);
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

export function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}

const GROUPED = new Intl.NumberFormat('en-US');

/** 1234567 as `1,234,567`. */
export function count(number: number): string {
  // Most numbers of a long table need no grouping, which takes a hundred times as long.
  return number < 1_000 ? String(number) : GROUPED.format(number);
}

export function usd(nanos: Nanos): string {
  return `${formatUsd(nanos)} USD`;
}
