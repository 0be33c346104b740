/** The Overview without a gateway: this month's figures from the state, and how to start a gateway. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import { program } from '../../core/program.ts';
import { countOf, short, usdInColumn } from '../../operator/format.ts';
import type { UsageRow } from '../../state/usage.ts';
import { Lines, Styled } from '../components/styled.ts';
import { Table } from '../components/table.ts';
import type { ViewProps } from '../components/view-props.ts';
import { bold, dim, type Line, span } from '../draw/line.ts';
import type { Column } from '../draw/table.ts';
import type { Model, StoredKey } from '../model.ts';
import { dearestKeys } from '../select.ts';
import { isLongRange } from '../series.ts';
import { account, labelled } from './account.ts';
import { Charts, chartsHeight, Ranges, type Room } from './charts.ts';

/** Minimum columns for two lists in a row. */
const BESIDE_COLUMNS = 80;
/** Minimum lines for the complete account. */
const TALL_LINES = 18;

const GAP = 2;

export function StoredOverview({ model, height }: ViewProps): ReactNode {
  const { columns, stored } = model;
  const head = [
    startHint(model),
    [],
    monthFigures(stored.modelUsage),
    ...account(model, columns, height >= TALL_LINES ? 3 : 2),
    [],
  ];
  const past = pastRoom(model, height);
  const room = height - head.length - (past === undefined ? 0 : chartsHeight(past) + 2);
  const isBeside = columns >= BESIDE_COLUMNS;
  const width = isBeside ? Math.floor((columns - GAP) / 2) : columns;
  const above = isBeside ? room : Math.min(Math.floor(room / 2), dearestKeys(stored.keys).length + 2);
  return h(
    Box,
    { flexDirection: 'column', height, overflow: 'hidden' },
    h(Lines, { lines: head }),
    past === undefined ? null : h(PastCharts, { model, room: past }),
    h(
      Box,
      { columnGap: GAP, rowGap: 1, flexDirection: isBeside ? 'row' : 'column' },
      h(Listed<StoredKey>, {
        title: 'Keys, this month',
        columns: keyColumns,
        rows: dearestKeys(stored.keys),
        width,
        height: above,
      }),
      h(Listed<UsageRow>, {
        title: 'Models, this month',
        columns: modelColumns,
        rows: dearestModels(stored.modelUsage),
        width,
        height: isBeside ? room : room - above - 1,
      }),
    ),
  );
}

/** Returns the room for charts of a long range; undefined if they are not shown. */
function pastRoom(model: Model, height: number): Room | undefined {
  if (model.minutes.length === 0 || !isLongRange(model) || height < TALL_LINES) return undefined;
  return { across: 2, down: 1, height: Math.max(3, Math.floor(height / 4) - 1), hasTimeAxis: true };
}

function PastCharts({ model, room }: { readonly model: Model; readonly room: Room }): ReactNode {
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0, paddingBottom: 1 },
    h(Box, null, h(Styled, { line: [bold('Over'), { text: ' ' }] }), h(Ranges, { model })),
    h(Charts, { model, room }),
  );
}

/** The hint to start a gateway; empty until the connection attempt has ended. */
export function startHint({ isConnecting }: Model): Line {
  if (isConnecting) return [];
  return [span(`${program()} serve`, { bold: true }), dim(' starts a gateway; this screen then follows it.')];
}

function monthFigures(byModel: ReadonlyMap<string, UsageRow>): Line {
  const rows = [...byModel.values()];
  const sum = (read: (row: UsageRow) => number) => rows.reduce((total, row) => total + read(row), 0);
  const requests = sum((row) => row.requests);
  const tokens = sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens);
  return labelled('this month', [{ text: `${countOf(requests, 'request')}, ${countOf(tokens, 'token')}` }]);
}

function dearestModels(byModel: ReadonlyMap<string, UsageRow>): readonly UsageRow[] {
  return [...byModel.values()].toSorted((a, b) => Number(b.costNanos - a.costNanos) || b.requests - a.requests);
}

interface ListedProps<Row> {
  readonly title: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly width: number;
  /** Maximum lines. */
  readonly height: number;
}

function Listed<Row>({ title, columns, rows, width, height }: ListedProps<Row>): ReactNode {
  return h(
    Box,
    { flexDirection: 'column', width, flexShrink: 0 },
    h(Styled, { line: [bold(title)] }),
    rows.length === 0
      ? h(Styled, { line: [dim('none used')] })
      : h(Table<Row>, { columns, rows, width, height: Math.max(1, height - 1), cursor: -1 }),
  );
}

const keyColumns: readonly Column<StoredKey>[] = [
  { head: 'KEY', width: 12, grows: true, middle: true, cell: ({ record }) => record.name },
  { head: 'REQUESTS', width: 8, align: 'right', cell: ({ month }) => short(month.requests) },
  { head: 'COST (USD)', width: 10, align: 'right', cell: ({ month }) => usdInColumn(month.costNanos, 2) },
];

const modelColumns: readonly Column<UsageRow>[] = [
  { head: 'MODEL', width: 12, grows: true, middle: true, cell: ({ model = '' }) => model },
  { head: 'REQUESTS', width: 8, align: 'right', cell: ({ requests }) => short(requests) },
  { head: 'COST (USD)', width: 10, align: 'right', cell: ({ costNanos }) => usdInColumn(costNanos, 2) },
];
