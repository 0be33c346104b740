/**
 * Tables and fields as lines of text: fitted to a terminal, or exact for a file or a program. Pure.
 * Names, notes and the words of providers are cleaned here, so that none of them can forge the output.
 */
import type { Nanos } from '../core/money.ts';
import { COLUMN_GAP, leastWidth, narrowedColumns, tableWidth } from './columns.ts';
import { exactUsd, inOneFormat, usd } from './format.ts';
import { type Health, SIGNS, type Tone } from './health.ts';
import { LOCAL, UTC, type Zone } from './moments.ts';
import { clean, cut, cutList, cutMiddle, pad, widthOf, wrap } from './text.ts';

export type Style = Tone | 'bold' | 'dim';

/** A state, which has a sign as well as a colour: not everybody sees colours, and not every terminal has them. */
export interface Marked<H extends Health = Tone> {
  readonly text: string;
  readonly tone: H;
}

export type Cell = string | Marked<Health>;

/** A column of text, or of figures, which are aligned to the right. */
export interface Column {
  readonly head: string;
  readonly number?: true;
  /** Amounts in USD, all with the same number of decimals. On a terminal, these are two, or six if one is below a cent. */
  readonly usd?: true;
  /** Prices: exact, all with the same number of decimals. */
  readonly price?: true;
  /** Lists, of which the last items are left out where room is short. */
  readonly list?: true;
  /** Sentences, which are shortened at their end: in their middle they would say nothing. */
  readonly prose?: true;
  /** Where the terminal is too narrow, the columns of the highest rank are dropped first. */
  readonly rank?: number;
  /** How narrow its cells may become, shortened, before a column is dropped. */
  readonly least?: number;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** Below the rows of a terminal, in bold. */
  readonly total?: readonly Cell[];
}

/** Where lines go. */
export interface Look {
  /** In columns; undefined where the output is no terminal: then nothing is left out, shortened or marked. */
  readonly room: number | undefined;
  paint(text: string, style: Style): string;
}

/** The zone of times: the viewer's on a terminal, UTC in a file or a pipe. */
export function zoneOf({ room }: Look): Zone {
  return room === undefined ? UTC : LOCAL;
}

/** An amount: short where a person reads it, exact where a program may. */
export function amount(nanos: Nanos, { room }: Look): string {
  return room === undefined ? exactUsd(nanos) : usd(nanos);
}

export function marked<H extends Health>(text: string, tone: H): Marked<H> {
  return { text, tone };
}

/** A column with its cells as they are shown, those of the total last. */
interface Sized extends Column {
  readonly cells: readonly string[];
  /** For each row what its cell means, if it is a state. */
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
  // Even the columns without a rank may be too wide.
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

/** Says which columns are not shown, and how to see them. A column without a head only illustrates another. */
function leftOut(all: readonly Sized[], shown: readonly Sized[], look: Look): string[] {
  const heads = new Set(shown.map(({ head }) => head));
  const missing = all.filter(({ head }) => head !== '' && !heads.has(head));
  if (missing.length === 0) return [];
  const names = missing.map(({ head }) => head).join(', ');
  return noteLines(`Left out: ${names}; ${leastWidth(all)} columns or --json show them.`, look);
}

/** A remark below a table, broken into lines that fit. */
export function noteLines(text: string, look: Look): string[] {
  const lines = look.room === undefined ? [clean(text)] : wrap(clean(text), look.room);
  return lines.map((line) => painted(line, 'dim', look));
}

export type Field = readonly [name: string, value: Cell];

/** Where less is left beside the names, a value that does not fit goes below its name. */
const ENOUGH_BESIDE = 24;
const INDENT = '  ';

/** Names and values below each other; a long value continues below itself. */
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

/** The sign is for people: programs read the state alone. */
function shownText(cell: Cell, { room }: Look): string {
  if (typeof cell === 'string') return clean(cell);
  return room === undefined ? clean(cell.text) : `${SIGNS[cell.tone]} ${clean(cell.text)}`;
}

/** What nobody knows about is not painted. */
function styleOf(cell: Cell): Style | undefined {
  return typeof cell === 'string' || cell.tone === 'unknown' ? undefined : cell.tone;
}

function painted(text: string, style: Style | undefined, look: Look): string {
  return style === undefined || text === '' ? text : look.paint(text, style);
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
