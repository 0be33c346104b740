/** Which columns of a table fit a width: one rule for the commands and the dashboard. Pure. */

export interface ColumnSize {
  /** In terminal columns. */
  readonly width: number;
  /** Where room is short, the highest rank is dropped first. A column without a rank stays. */
  readonly rank?: number;
}

/** Between two columns of a table. */
export const COLUMN_GAP = 2;

export function tableWidth(columns: readonly ColumnSize[]): number {
  return columns.reduce((sum, { width }) => sum + width, COLUMN_GAP * (columns.length - 1));
}

/** The columns that fit `room`, or those without a rank if even they do not. */
export function fittingColumns<C extends ColumnSize>(columns: readonly C[], room: number): readonly C[] {
  const highest = columns.reduce((most, { rank = 0 }) => Math.max(most, rank), 0);
  if (tableWidth(columns) <= room || highest === 0) return columns;
  return fittingColumns(
    columns.filter(({ rank }) => rank !== highest),
    room,
  );
}
