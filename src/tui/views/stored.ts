/** The Overview without a gateway: what the state holds of this month, and how to start one. */
import { program } from '../../core/program.ts';
import { countOf, short, usdInColumn } from '../../operator/format.ts';
import type { UsageRow } from '../../state/usage.ts';
import { beside, bold, dim, fitLine, type Line, span } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import type { Model, StoredKey } from '../model.ts';
import { dearestKeys } from '../select.ts';
import { isLongRange } from '../series.ts';
import { account, labelled } from './account.ts';
import { charts, ranges } from './charts.ts';

/** From this many columns on there is room for two lists side by side. */
const BESIDE_COLUMNS = 80;
/** From this many lines on the account is shown with all of its lines. */
const TALL_LINES = 18;

export function storedOverview(model: Model, height: number): Line[] {
  const { columns, stored } = model;
  const half = Math.floor((columns - 2) / 2);
  const head = [
    startHint(model),
    [],
    monthFigures(stored.modelUsage, columns),
    ...account(model, columns, height >= TALL_LINES ? 3 : 2),
    [],
    ...pastCharts(model, height),
  ];
  const room = height - head.length;
  const keys = list('Keys, this month', keyColumns, dearestKeys(stored.keys));
  const models = list('Models, this month', modelColumns, dearestModels(stored.modelUsage));
  if (columns >= BESIDE_COLUMNS) {
    return [...head, ...beside([keys, models].map((lines) => ({ lines: lines(half, room), width: half })))];
  }
  const above = keys(columns, Math.floor(room / 2));
  return [...head, ...above, [], ...models(columns, room - above.length - 1)];
}

/** What the journal knows about a long range, if one is chosen. */
function pastCharts(model: Model, height: number): Line[] {
  if (model.minutes.length === 0 || !isLongRange(model) || height < TALL_LINES) return [];
  const room = { across: 2, down: 1, height: Math.max(3, Math.floor(height / 4) - 1), hasTimeAxis: true };
  return [[bold('Over'), { text: ' ' }, ...ranges(model)], ...charts(model, room), []];
}

/** How to start a gateway; nothing while it is not known whether one runs. */
export function startHint({ isConnecting }: Model): Line {
  if (isConnecting) return [];
  return [span(`${program()} serve`, { bold: true }), dim(' starts a gateway; this screen then follows it.')];
}

function monthFigures(byModel: ReadonlyMap<string, UsageRow>, width: number): Line {
  const rows = [...byModel.values()];
  const sum = (read: (row: UsageRow) => number) => rows.reduce((total, row) => total + read(row), 0);
  const requests = sum((row) => row.requests);
  const tokens = sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens);
  return fitLine(
    labelled('this month', [{ text: `${countOf(requests, 'request')}, ${countOf(tokens, 'token')}` }]),
    width,
  );
}

function dearestModels(byModel: ReadonlyMap<string, UsageRow>): readonly UsageRow[] {
  return [...byModel.values()].toSorted((a, b) => Number(b.costNanos - a.costNanos) || b.requests - a.requests);
}

/** A list with a title, at most as many lines as there is room for. */
function list<Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[]) {
  return (width: number, height: number): Line[] => {
    if (rows.length === 0) return [[bold(title)], [dim('none used')]];
    return [[bold(title)], ...table(columns, rows, { width, height: Math.max(1, height - 1), cursor: -1 })];
  };
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
