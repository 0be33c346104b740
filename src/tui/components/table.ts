/**
 * Tables: the head and the rows around the cursor. Rows outside the screen create no components, so long lists stay
 * fast.
 */
import { Box, useIsScreenReaderEnabled } from 'ink';
import { createElement as h, memo, type ReactNode, useContext } from 'react';
import { COLUMN_GAP } from '../../operator/columns.ts';
import { fit } from '../../operator/text.ts';
import { dim, isSameLine, type Line } from '../draw/line.ts';
import { type Column, firstShown, type Placed, placedColumns, rowLine } from '../draw/table.ts';
import type { Click } from '../pointer.ts';
import { Clickable } from './clickable.ts';
import { LookContext, Styled, spokenText } from './styled.ts';

export interface TableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly width: number;
  /** Height in lines, including the head. */
  readonly height: number;
  /** The selected row, which is always visible; -1 without one. */
  readonly cursor: number;
  /** Maps a row's index to its index in the open list. Without it, rows cannot be clicked. */
  readonly placeOf?: (index: number) => number;
  /** Returns the effect of a click on a column's head. */
  readonly clickOf?: (column: Column<Row>) => Click | undefined;
  /** Lines below a row, such as the last failure of a provider. */
  readonly belowOf?: (index: number) => readonly Line[];
}

export function Table<Row>(props: TableProps<Row>): ReactNode {
  const { columns, rows, width, height, cursor, placeOf, clickOf, belowOf } = props;
  const isRead = useIsScreenReaderEnabled();
  const placed = placedColumns<Row, Column<Row>>(columns, width);
  const top = firstShown(rows.length, height - 1, cursor);
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0, width },
    isRead ? null : h(Head<Row>, { placed, clickOf, width }),
    rows.slice(top, top + Math.max(0, height - 1)).flatMap((row, index) => {
      const line = isRead ? spokenRow(placed, row) : rowLine(placed, row, width);
      const place = placeOf?.(top + index);
      const isSelected = top + index === cursor;
      return [
        h(TableRow, { key: index, line, place, isSelected }),
        ...(belowOf?.(top + index) ?? []).map((below, number) => h(Styled, { key: `${index} ${number}`, line: below })),
      ];
    }),
  );
}

interface RowProps {
  readonly line: Line;
  readonly place: number | undefined;
  readonly isSelected: boolean;
}

/** A row of the table. The band of the selected row spans the whole width. */
const TableRow = memo(
  function TableRow({ line, place, isSelected }: RowProps): ReactNode {
    const { theme, isFaded } = useContext(LookContext);
    const band = isSelected && !isFaded ? theme?.band : undefined;
    return h(
      Clickable,
      {
        click: place === undefined ? undefined : { on: 'row', which: place },
        flexShrink: 0,
        'aria-state': { selected: isSelected },
        ...(band !== undefined && { backgroundColor: band }),
      },
      h(Styled, { line, isSelected: isSelected && !isFaded }),
    );
  },
  (before, after) =>
    before.place === after.place && before.isSelected === after.isSelected && isSameLine(before.line, after.line),
);

interface HeadProps<Row> {
  readonly placed: readonly Placed<Row>[];
  readonly clickOf: ((column: Column<Row>) => Click | undefined) | undefined;
  readonly width: number;
}

function Head<Row>({ placed, clickOf, width }: HeadProps<Row>): ReactNode {
  let left = width;
  return h(
    Box,
    { gap: COLUMN_GAP, height: 1, flexShrink: 0, overflow: 'hidden' },
    placed.map(({ column, room }, index) => {
      // In the smallest windows the last column may not fit.
      const shown = Math.max(0, Math.min(room, left));
      left -= room + COLUMN_GAP;
      return h(
        Clickable,
        { key: index, click: clickOf?.(column), width: shown, flexShrink: 0 },
        h(Styled, { line: [dim(fit(column.head, shown, column.align))] }),
      );
    }),
  );
}

/** Returns a row as `name: web-app, state: enabled`, since a screen reader has no columns. */
function spokenRow<Row>(placed: readonly Placed<Row>[], row: Row): Line {
  const cells = placed.flatMap(({ column, room }) => {
    const cell = column.cell(row, room);
    const text = spokenText(typeof cell === 'string' ? [{ text: cell }] : cell);
    return text === '' ? [] : [column.head === '' ? text : `${column.head.toLowerCase()}: ${text}`];
  });
  return [{ text: cells.join(', ') }];
}
