/**
 * What the commands print: aligned tables for people, one JSON document for programs. Names, notes
 * and the words of providers are cleaned here, so that none of them can forge the output.
 */
import { styleText } from 'node:util';
import { redactKeys } from '../core/api-key.ts';
import { COLUMN_GAP, fittingColumns } from '../operator/columns.ts';
import { clean, pad, widthOf } from '../operator/text.ts';

/** A column of text, or of figures, which are aligned to the right. */
export interface Column {
  readonly head: string;
  readonly number?: true;
  /** Amounts in USD: figures that are shown with the same number of decimals. */
  readonly usd?: true;
  /** Where the terminal is too narrow, the columns of the highest rank are dropped first. */
  readonly rank?: number;
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

/**
 * Prints a notice or an error on stderr: it is not a result, and must not end up in a pipe. A whole
 * key that somebody gave to a command is not repeated.
 */
export function notice(line: string): void {
  process.stderr.write(`${clean(redactKeys(line))}\n`);
}

/** What JSON may contain as it is, but a terminal must not get. Line breaks are those of the document. */
const UNSAFE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Prints one JSON document, and nothing else. Its values are exact; unprintable characters are escaped. */
export function printJson(value: unknown): void {
  const text = JSON.stringify(value, null, 2).replace(UNSAFE_IN_JSON, escaped);
  process.stdout.write(`${text}\n`);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Prints CSV: exact where it goes to a file or a program, cleaned where a person reads it. */
export function printCsv(csv: string): void {
  process.stdout.write(process.stdout.isTTY ? csv.split('\n').map(clean).join('\n') : csv);
}

export function printLine(line = '', style?: Style): void {
  write(styled(clean(line), style));
}

/** Prints a line with a word in front that is coloured on a terminal. */
export function printMarked(mark: string, style: Style, text: string): void {
  write(styled(mark, style) + clean(text));
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints an aligned table that fits the terminal, or every column if the output is no terminal. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const table = columns.map((column, i) => {
    const raw = rows.map((row) => clean(row[i] ?? ''));
    const cells = column.usd ? sameDecimals(raw) : raw;
    return { ...column, cells, width: largest([column.head, ...cells].map(widthOf)) };
  });
  const shown = fittingColumns(table, process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY);
  const line = (cellOf: (column: (typeof table)[number]) => string) =>
    shown
      .map((column) => pad(cellOf(column), column.width, column.number || column.usd ? 'right' : 'left'))
      .join(' '.repeat(COLUMN_GAP))
      .trimEnd();
  write(
    [
      styled(
        line(({ head }) => head),
        'bold',
      ),
      ...rows.map((_, i) => line(({ cells }) => cells[i] ?? '')),
    ].join('\n'),
  );
  if (shown.length < table.length) notice('Some columns do not fit this terminal; use --json to see them all.');
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
  for (const [name, value] of fields) write(`${styled(pad(name, width), 'dim')}  ${clean(value)}`);
}

function styled(text: string, style?: Style): string {
  return style === undefined ? text : styleText(style, text, { stream: process.stdout });
}
