/**
 * Tables that fit the screen: columns are dropped by rank, and growing ones share the rest. Pure.
 */
import { COLUMN_GAP, type ColumnSize, narrowedColumns, tableWidth } from '../../operator/columns.ts';
import { count } from '../../operator/format.ts';
import { type Align, clean, cutMiddle, fit } from '../../operator/text.ts';
import { type Click, clickable, fitLine, type Line, lineWidth, type Span, selected } from './line.ts';

export interface Column<Row> extends ColumnSize {
  readonly head: string;
  readonly align?: Align;
  /** Takes an equal share of the room that is left, beyond its width. */
  readonly grows?: true;
  /** Shortens a text in its middle: names often differ at their end. */
  readonly middle?: true;
  /** What a click on the head does. */
  readonly click?: Click | undefined;
  cell(row: Row, width: number): string | Line;
}

export interface TableOptions {
  readonly width: number;
  /** In lines, including the head. */
  readonly height: number;
  /** The selected row, which is always shown; -1 for none. */
  readonly cursor: number;
  /** The place in the whole list of the row with this index. Without it, rows cannot be clicked. */
  readonly placeOf?: (index: number) => number;
}

/** The head and the rows around the cursor. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], options: TableOptions): Line[] {
  const { width, height, cursor, placeOf } = options;
  const shown = layOut(columns, width);
  const head = lineOf(shown, ({ column, room }) => [
    { text: fit(column.head, room, column.align), dim: true, click: column.click },
  ]);
  const top = firstShown(rows.length, height - 1, cursor);
  const lines = rows.slice(top, top + height - 1).map((row, index) => {
    const cells = lineOf(shown, ({ column, room }) => cellOf(column, row, room));
    const line = top + index === cursor ? selected(cells, width) : fitLine(cells, width);
    return placeOf === undefined ? line : clickable(line, { on: 'row', which: placeOf(top + index) });
  });
  return [fitLine(head, width), ...lines];
}

/** The first row to show so that the cursor is in the middle, or as near to it as possible. */
export function firstShown(rows: number, height: number, cursor: number): number {
  return Math.max(0, Math.min(cursor - Math.floor(height / 2), rows - height));
}

/** Which rows of a list are on the screen, `first` of them counted from 0: `34–66 of 500`; empty if all are. */
export function rangeText(first: number, shown: number, total: number): string {
  return shown >= total ? '' : `${count(first + 1)}–${count(first + shown)} of ${count(total)}`;
}

interface Shown<Row> {
  readonly column: Column<Row>;
  readonly room: number;
}

/** The columns that fit, with the rest of the room shared among those that grow. */
function layOut<Row>(columns: readonly Column<Row>[], width: number): Shown<Row>[] {
  const shown = narrowedColumns(columns, width);
  const rest = Math.max(0, width - tableWidth(shown));
  const growing = shown.filter(({ grows }) => grows);
  const share = (column: Column<Row>) => {
    const index = growing.indexOf(column);
    if (index < 0) return 0;
    return Math.floor(rest / growing.length) + (index < rest % growing.length ? 1 : 0);
  };
  return shown.map((column) => ({ column, room: column.width + share(column) }));
}

function lineOf<Row>(shown: readonly Shown<Row>[], cell: (each: Shown<Row>) => Line): Span[] {
  return shown.flatMap((each, index) => [...(index === 0 ? [] : [{ text: ' '.repeat(COLUMN_GAP) }]), ...cell(each)]);
}

function cellOf<Row>(column: Column<Row>, row: Row, room: number): Line {
  const cell = column.cell(row, room);
  if (typeof cell === 'string') {
    const text = column.middle ? cutMiddle(clean(cell), room) : cell;
    return [{ text: fit(text, room, column.align) }];
  }
  const line = cell.map((each) => ({ ...each, text: clean(each.text) }));
  const missing = room - lineWidth(line);
  return column.align === 'right' && missing > 0 ? [{ text: ' '.repeat(missing) }, ...line] : fitLine(line, room);
}
