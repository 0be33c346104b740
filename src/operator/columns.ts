/** The widths of table columns in a terminal, for commands and dashboard. Pure. */

export interface ColumnSize {
  /** In terminal columns. */
  readonly width: number;
  /** The width to which cells may be shortened before a column is dropped. Default: `width`. */
  readonly least?: number;
  /** In a narrow terminal, the columns of the highest rank are dropped first. Columns without a rank are never dropped. */
  readonly rank?: number;
}

/** Blanks between two columns. */
export const COLUMN_GAP = 2;
/** The width to which columns with `least` are shortened if the columns without a rank do not fit otherwise. */
const NARROWEST = 4;

export function tableWidth(columns: readonly ColumnSize[]): number {
  return columns.reduce((sum, { width }) => sum + width, COLUMN_GAP * (columns.length - 1));
}

/** The width of a table whose columns all have their least width. */
export function leastWidth(columns: readonly ColumnSize[]): number {
  return tableWidth(columns.map((column) => ({ width: leastOf(column) })));
}

/** Drops columns by rank until the rest fits `room` at its least widths. */
export function fittingColumns<C extends ColumnSize>(columns: readonly C[], room: number): readonly C[] {
  const highest = columns.reduce((most, { rank = 0 }) => Math.max(most, rank), 0);
  if (leastWidth(columns) <= room || highest === 0) return columns;
  return fittingColumns(
    columns.filter(({ rank }) => rank !== highest),
    room,
  );
}

/** The columns that fit `room`, with their widths in it. */
export function narrowedColumns<C extends ColumnSize>(columns: readonly C[], room: number): readonly C[] {
  const shown = fittingColumns(columns, room);
  const narrowed = narrow(shown, room, leastOf);
  return narrow(narrowed, room, (column) =>
    column.least === undefined ? column.width : Math.min(NARROWEST, column.width),
  );
}

function leastOf({ width, least = width }: ColumnSize): number {
  return Math.min(width, least);
}

/** Shortens the widest column by one, again and again, until all fit or each has reached its floor. */
function narrow<C extends ColumnSize>(
  columns: readonly C[],
  room: number,
  floorOf: (column: C) => number,
): readonly C[] {
  const widths = columns.map(({ width }) => width);
  const floors = columns.map(floorOf);
  for (let excess = tableWidth(columns) - room; excess > 0; excess--) {
    let widest = -1;
    for (const [i, width] of widths.entries()) {
      if (width > (floors[i] ?? 0) && width > (widths[widest] ?? 0)) widest = i;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return columns.map((column, i) => ({ ...column, width: widths[i] ?? 0 }));
}
