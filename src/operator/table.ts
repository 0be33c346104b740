/**
 * Tables and fields as lines of text: fitted to a terminal, or exact for a file or a program. Pure. Names, notes and
 * messages of providers are cleaned here, so that they cannot forge output.
 */
import type { Nanos } from '../core/money.ts';
import { COLUMN_GAP, leastWidth, narrowedColumns, tableWidth } from './columns.ts';
import { exactUsd, inOneFormat, usd } from './format.ts';
import { type Health, SIGNS, type Tone } from './health.ts';
import { LOCAL, UTC, type Zone } from './moments.ts';
import { clean, cut, cutList, cutMiddle, pad, widthOf, wrap } from './text.ts';

export type Style = Tone | 'bold' | 'dim';

/** A state with its tone, which is shown as a sign and a colour: colours may be invisible. */
export interface Marked<H extends Health = Tone> {
  readonly text: string;
  readonly tone: H;
}

export type Cell = string | Marked<Health>;

/** A column of text, or of right-aligned figures. */
export interface Column {
  readonly head: string;
  readonly number?: true;
  /** Amounts in USD, all with the same number of decimals. On a terminal, these are two, or six if one is below a cent. */
  readonly usd?: true;
  /** Prices: exact, all with the same number of decimals. */
  readonly price?: true;
  /** Lists, shortened by omitting their last items. */
  readonly list?: true;
  /** Sentences, shortened at their end. Other texts are shortened in their middle, since names often differ at their end. */
  readonly prose?: true;
  /** In a narrow terminal, the columns of the highest rank are dropped first. */
  readonly rank?: number;
  /** The width to which cells may be shortened before a column is dropped. */
  readonly least?: number;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** A row below the others, in bold; on terminals only. */
  readonly total?: readonly Cell[];
}

/** The output that lines are made for. */
export interface Look {
  /** The width in columns. Undefined for a file or a pipe: then texts are whole, and states have no signs. */
  readonly room: number | undefined;
  paint(text: string, style: Style): string;
}

/** The zone of shown times: the viewer's on a terminal, UTC in a file or a pipe. */
export function zoneOf({ room }: Look): Zone {
  return room === undefined ? UTC : LOCAL;
}

/** An amount: short on a terminal, exact elsewhere. */
export function amount(nanos: Nanos, { room }: Look): string {
  return room === undefined ? exactUsd(nanos) : usd(nanos);
}

export function marked<H extends Health>(text: string, tone: H): Marked<H> {
  return { text, tone };
}

/** A column with its formatted cells, the total last. */
interface Sized extends Column {
  readonly cells: readonly string[];
  /** The style of each cell that is a state. */
  readonly styles: readonly (Style | undefined)[];
  readonly width: number;
}

export function tableLines({ columns, rows, total }: Table, look: Look): string[] {
  const { room = Number.POSITIVE_INFINITY } = look;
  const isForPeople = look.room !== undefined;
  const all = total === undefined || !isForPeople ? rows : [...rows, total];
  const sized = columns.map((column, i) =>
    sizedColumn(
      column,
      all.map((row) => row[i] ?? ''),
      look,
    ),
  );
  const shown = narrowedColumns(sized, room);
  // The columns without a rank may still be too wide.
  const isTooWide = tableWidth(shown) > room;
  const bold = (texts: readonly string[]) => painted(cut(joined(texts), room), 'bold', look);
  const plain = (row: number) => shown.map((column) => aligned(column.cells[row] ?? '', column));
  const line = (row: number) => {
    if (isTooWide) return cut(joined(plain(row)), room);
    const texts = plain(row);
    return joined(texts.map((text, i) => painted(text, isForPeople ? shown[i]?.styles[row] : undefined, look)));
  };
  return [
    bold(shown.map((column) => aligned(column.head, column))),
    ...rows.map((_, row) => line(row)),
    ...(all === rows ? [] : [bold(plain(rows.length))]),
    ...leftOut(sized, shown, look),
  ];
}

function sizedColumn(column: Column, cells: readonly Cell[], look: Look): Sized {
  const texts = cells.map((cell) => shownText(cell, look));
  const isRounded = column.usd === true && look.room !== undefined;
  const shown = isRounded ? inOneFormat(texts) : column.usd || column.price ? sameDecimals(texts) : texts;
  return {
    ...column,
    cells: shown,
    styles: cells.map(styleOf),
    width: largest([column.head, ...shown].map(widthOf)),
  };
}

function aligned(text: string, { width, number, usd, price, list, prose }: Sized): string {
  const shorten = list ? cutList : prose ? cut : cutMiddle;
  return pad(shorten(text, width), width, number || usd || price ? 'right' : 'left');
}

function joined(texts: readonly string[]): string {
  return texts.join(' '.repeat(COLUMN_GAP)).trimEnd();
}

/** A note that names the dropped columns and the width that shows them. Columns without a head are not named. */
function leftOut(all: readonly Sized[], shown: readonly Sized[], look: Look): string[] {
  const heads = new Set(shown.map(({ head }) => head));
  const missing = all.filter(({ head }) => head !== '' && !heads.has(head));
  if (missing.length === 0) return [];
  const names = missing.map(({ head }) => head).join(', ');
  return noteLines(`Left out: ${names}; ${leastWidth(all)} columns or --json show them.`, look);
}

/** A note below a table, wrapped to the terminal. */
export function noteLines(text: string, look: Look): string[] {
  const lines = look.room === undefined ? [clean(text)] : wrap(clean(text), look.room);
  return lines.map((line) => painted(line, 'dim', look));
}

export type Field = readonly [name: string, value: Cell];

/** With less room than this to the right of the names, a long value starts below its name. */
const ENOUGH_BESIDE = 24;
const INDENT = '  ';

/** Fields below each other. A long value continues on indented lines. */
export function fieldLines(fields: readonly Field[], look: Look): string[] {
  const width = largest(fields.map(([name]) => widthOf(name)));
  const { room = Number.POSITIVE_INFINITY } = look;
  const beside = room - width - COLUMN_GAP;
  return fields.flatMap(([name, value]) => {
    const text = shownText(value, look);
    const style = look.room === undefined ? undefined : styleOf(value);
    const isBelow = beside < ENOUGH_BESIDE && widthOf(text) > beside;
    const [first = '', ...rest] =
      widthOf(text) <= beside ? [text] : wrap(text, isBelow ? room - INDENT.length : beside);
    const label = look.paint(pad(name, width), 'dim');
    const gap = ' '.repeat(COLUMN_GAP);
    if (isBelow)
      return [look.paint(name, 'dim'), ...[first, ...rest].map((line) => INDENT + painted(line, style, look))];
    return [
      `${label}${gap}${painted(first, style, look)}`,
      ...rest.map((line) => `${' '.repeat(width)}${gap}${painted(line, style, look)}`),
    ];
  });
}

/** The text of a cell. Programs read states without signs. */
function shownText(cell: Cell, { room }: Look): string {
  if (typeof cell === 'string') return clean(cell);
  return room === undefined ? clean(cell.text) : `${SIGNS[cell.tone]} ${clean(cell.text)}`;
}

/** The style of a state; an unknown state has no style. */
function styleOf(cell: Cell): Style | undefined {
  return typeof cell === 'string' || cell.tone === 'unknown' ? undefined : cell.tone;
}

function painted(text: string, style: Style | undefined, look: Look): string {
  return style === undefined || text === '' ? text : look.paint(text, style);
}

/** The largest number. `Math.max(...numbers)` fails for long tables, whose rows exceed the maximum of arguments. */
function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

/** Pads fractions with zeros to equal lengths. */
function sameDecimals(amounts: readonly string[]): string[] {
  const decimals = largest(amounts.map((amount) => amount.split('.')[1]?.length ?? 0));
  return amounts.map((amount) => {
    const [whole = '', fraction] = amount.split('.');
    return fraction === undefined ? amount : `${whole}.${fraction.padEnd(decimals, '0')}`;
  });
}
