/** Which columns of a table fit a width, and how wide they are then: one rule for the commands and the dashboard. Pure. */

export interface ColumnSize {
  /** In terminal columns. */
  readonly width: number;
  /** How narrow its cells may become, shortened, before a column is dropped. Without it: as wide as `width`. */
  readonly least?: number;
  /** Where room is short, the highest rank is dropped first. A column without a rank stays. */
  readonly rank?: number;
}

/** Between two columns of a table. */
export const COLUMN_GAP = 2;
/** Where even the columns without a rank do not fit, those that may be shortened become as narrow as this. */
const NARROWEST = 4;

export function tableWidth(columns: readonly ColumnSize[]): number {
  return columns.reduce((sum, { width }) => sum + width, COLUMN_GAP * (columns.length - 1));
}

/** The width from which on all of these columns are shown. */
export function leastWidth(columns: readonly ColumnSize[]): number {
  return tableWidth(columns.map((column) => ({ width: leastOf(column) })));
}

/** The columns that fit `room`, shortened as far as they may be, or those without a rank if even they do not. */
export function fittingColumns<C extends ColumnSize>(columns: readonly C[], room: number): readonly C[] {
  const highest = columns.reduce((most, { rank = 0 }) => Math.max(most, rank), 0);
  if (leastWidth(columns) <= room || highest === 0) return columns;
  return fittingColumns(
    columns.filter(({ rank }) => rank !== highest),
    room,
  );
}

/** The columns that fit `room`, at the widths that they have in it. */
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

/** Takes columns from the widest that may become narrower, one at a time, until all fit or none may. */
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
