/**
 * The columns of a table that fit the screen: columns are dropped by rank, and growing ones share the rest. Pure.
 */
import { COLUMN_GAP, type ColumnSize, narrowedColumns, tableWidth } from '../../operator/columns.ts';
import { count } from '../../operator/format.ts';
import { type Align, clean, cutMiddle, fit } from '../../operator/text.ts';
import { fitLine, type Line, lineWidth } from './line.ts';

export interface Column<Row> extends ColumnSize {
  readonly head: string;
  readonly align?: Align;
  /** Takes an equal share of the room that is left, beyond its width. */
  readonly grows?: true;
  /** Shortens a text in its middle: names often differ at their end. */
  readonly middle?: true;
  cell(row: Row, width: number): string | Line;
}

/** A column that is shown, and its width. */
export interface Placed<Row, C extends Column<Row> = Column<Row>> {
  readonly column: C;
  readonly room: number;
}

/** The columns that fit, with the rest of the room shared among those that grow. */
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

/** A row, exactly as wide as the table. */
export function rowLine<Row>(placed: readonly Placed<Row>[], row: Row, width: number): Line {
  const cells = placed.flatMap(({ column, room }, index) => [
    ...(index === 0 ? [] : [{ text: ' '.repeat(COLUMN_GAP) }]),
    ...cellOf(column, row, room),
  ]);
  return fitLine(cells, width);
}

/** The first row to show so that the cursor is in the middle, or as near to it as possible. */
export function firstShown(rows: number, height: number, cursor: number): number {
  return Math.max(0, Math.min(cursor - Math.floor(height / 2), rows - height));
}

/** Which rows of a list are on the screen, `first` of them counted from 0: `34–66 of 500`; empty if all are. */
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
