/** Tables that fit the screen: columns give way in the order of their ranks, and one takes what is left. Pure. */
import { fitLine, type Line, lineWidth, type Span, selected } from './line.ts';
import { type Align, clean, fit } from './text.ts';

export interface Column<Row> {
  readonly head: string;
  readonly width: number;
  readonly align?: Align;
  /** Takes of the room that is left, beyond its width: each that grows as much as the others. */
  readonly grows?: true;
  /** Where room is short, columns with the highest rank are left out first; those without one stay. */
  readonly rank?: number;
  cell(row: Row, width: number): string | Line;
}

export interface TableOptions {
  readonly width: number;
  /** Lines with the head. */
  readonly height: number;
  /** Which row is selected; the window moves so that it is seen. -1 for none. */
  readonly cursor: number;
}

const GAP = 2;

/** The head and the rows around the cursor. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], options: TableOptions): Line[] {
  const { width, height, cursor } = options;
  const shown = fitting(columns, width);
  const head = lineOf(shown, ({ column, room }) => [{ text: fit(column.head, room, column.align), dim: true }]);
  const top = firstShown(rows.length, height - 1, cursor);
  const lines = rows.slice(top, top + height - 1).map((row, index) => {
    const line = lineOf(shown, ({ column, room }) => cellOf(column, row, room));
    return top + index === cursor ? selected(line, width) : fitLine(line, width);
  });
  return [fitLine(head, width), ...lines];
}

/** The first row of a window of so many rows, such that the cursor is in its middle, or as near to it as can be. */
export function firstShown(rows: number, height: number, cursor: number): number {
  return Math.max(0, Math.min(cursor - Math.floor(height / 2), rows - height));
}

interface Shown<Row> {
  readonly column: Column<Row>;
  readonly room: number;
}

function fitting<Row>(columns: readonly Column<Row>[], width: number): Shown<Row>[] {
  const needed = columns.reduce((sum, column) => sum + column.width, GAP * (columns.length - 1));
  const highest = Math.max(0, ...columns.map(({ rank }) => rank ?? 0));
  if (needed > width && highest > 0)
    return fitting(
      columns.filter(({ rank }) => rank !== highest),
      width,
    );
  const rest = Math.max(0, width - needed);
  const growing = columns.filter(({ grows }) => grows);
  const share = (column: Column<Row>) => {
    const index = growing.indexOf(column);
    if (index < 0) return 0;
    return Math.floor(rest / growing.length) + (index < rest % growing.length ? 1 : 0);
  };
  return columns.map((column) => ({ column, room: column.width + share(column) }));
}

function lineOf<Row>(shown: readonly Shown<Row>[], cell: (each: Shown<Row>) => Line): Span[] {
  return shown.flatMap((each, index) => [...(index === 0 ? [] : [{ text: ' '.repeat(GAP) }]), ...cell(each)]);
}

function cellOf<Row>(column: Column<Row>, row: Row, room: number): Line {
  const cell = column.cell(row, room);
  if (typeof cell === 'string') return [{ text: fit(cell, room, column.align) }];
  const line = cell.map((each) => ({ ...each, text: clean(each.text) }));
  const missing = room - lineWidth(line);
  return column.align === 'right' && missing > 0 ? [{ text: ' '.repeat(missing) }, ...line] : fitLine(line, room);
}
