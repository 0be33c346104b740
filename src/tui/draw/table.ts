/** Table layout: columns are dropped by rank until the rest fit, and growing ones share the remaining width. Pure. */
import { COLUMN_GAP, type ColumnSize, narrowedColumns, tableWidth } from '../../operator/columns.ts';
import { count } from '../../operator/format.ts';
import { type Align, clean, cutMiddle, fit } from '../../operator/text.ts';
import { fitLine, type Line, lineWidth } from './line.ts';

export interface Column<Row> extends ColumnSize {
  readonly head: string;
  readonly align?: Align;
  /** Whether the column takes an equal share of the remaining width. */
  readonly grows?: true;
  /** Whether to shorten a text in its middle: names often differ at their end. */
  readonly middle?: true;
  cell(row: Row, width: number): string | Line;
}

/** A visible column, and its width. */
export interface Placed<Row, C extends Column<Row> = Column<Row>> {
  readonly column: C;
  readonly room: number;
}

/** Returns the columns that fit; growing ones share the remaining width. */
export function placedColumns<Row, C extends Column<Row>>(columns: readonly C[], width: number): Placed<Row, C>[] {
  const shown = narrowedColumns(columns, width);
  const rest = Math.max(0, width - tableWidth(shown));
  const growing = shown.filter(({ grows }) => grows);
  const share = (column: C) => {
    const index = growing.indexOf(column);
    if (index < 0) return 0;
    return Math.floor(rest / growing.length) + (index < rest % growing.length ? 1 : 0);
  };
  return shown.map((column) => ({ column, room: column.width + share(column) }));
}

/** Returns a row, exactly as wide as the table. */
export function rowLine<Row>(placed: readonly Placed<Row>[], row: Row, width: number): Line {
  const cells = placed.flatMap(({ column, room }, index) => [
    ...(index === 0 ? [] : [{ text: ' '.repeat(COLUMN_GAP) }]),
    ...cellOf(column, row, room),
  ]);
  return fitLine(cells, width);
}

/** Returns the first visible row, chosen so that the cursor is as near to the middle as possible. */
export function firstShown(rows: number, height: number, cursor: number): number {
  return Math.max(0, Math.min(cursor - Math.floor(height / 2), rows - height));
}

/** Returns the range of visible rows, such as `34–66 of 500`; empty if all are visible. `first` counts from 0. */
export function rangeText(first: number, shown: number, total: number): string {
  return shown >= total ? '' : `${count(first + 1)}–${count(first + shown)} of ${count(total)}`;
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
