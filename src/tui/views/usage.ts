/** The Usage view: requests, tokens and cost by key, model, day, month or source. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { count, dateTime, short, usd, usdInColumn } from '../../operator/format.ts';
import { NO_USAGE } from '../../operator/messages.ts';
import { USAGE_GROUPS, type UsageRow } from '../../state/usage.ts';
import { bold, dim, type Line, span, spread } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import { type Model, RANGES } from '../model.ts';

/** From this many columns on all groups and ranges fit on one line. */
const WIDE_COLUMNS = 80;

export function usage(model: Model, height: number): Line[] {
  const { by, range, rows, cursor } = model.usage;
  const hasRoom = model.columns >= WIDE_COLUMNS;
  const head: Line = [
    bold('Usage'),
    dim('  by '),
    ...choices(USAGE_GROUPS, by, hasRoom),
    dim('  over '),
    ...choices(RANGES, range, hasRoom),
  ];
  const asOf = asOfLine(model.usage);
  if (rows.length === 0) return [head, [], [dim(asOf === '' ? '' : NO_USAGE)], [dim(asOf)]];
  const lines = table(columnsOf(model), rows, { width: model.columns, height: height - 2, cursor });
  return [head, ...lines, spread(totalLine(rows), [dim(asOf)], model.columns)];
}

/** The figures are read again while the view is open, but the database may be away. */
function asOfLine({ readAtMs }: Model['usage']): string {
  return readAtMs === undefined ? '' : `as of ${dateTime(readAtMs).slice(-8)} UTC`;
}

/** The choice, among the others if there is room for them. */
function choices<T extends string>(all: readonly T[], chosen: T, hasRoom: boolean): Line {
  return all
    .filter((each) => hasRoom || each === chosen)
    .map((each) => span(` ${each} `, { inverse: each === chosen, dim: each !== chosen }));
}

/** What a row is about. */
function nameOfRow({ rowsBy }: Model['usage'], row: UsageRow): string {
  return (rowsBy === 'key' ? (row.key ?? row.keyId) : row[rowsBy]) ?? '';
}

function columnsOf({ usage: state }: Model): Column<UsageRow>[] {
  const top = state.rows.reduce((most, { costNanos }) => (costNanos > most ? costNanos : most), 0n);
  const decimals = top < NANOS_PER_USD ? 6 : 2;
  const most = Math.max(1, ...state.rows.map(({ requests }) => requests));
  // If nothing costs anything, bars of requests say more than empty ones.
  const shareOf = (row: UsageRow) => (top > 0n ? Number(row.costNanos) / Number(top) : row.requests / most);
  return [
    { head: state.rowsBy.toUpperCase(), width: 15, grows: true, cell: (row) => nameOfRow(state, row) },
    {
      head: top > 0n ? 'COST COMPARED' : 'REQUESTS COMPARED',
      width: 17,
      grows: true,
      rank: 1,
      cell: (row, width) => share(shareOf(row), width),
    },
    { head: 'REQUESTS', width: 8, align: 'right', cell: ({ requests }) => short(requests) },
    {
      head: 'ERRORS',
      width: 6,
      align: 'right',
      rank: 2,
      cell: ({ errors }) => (errors === 0 ? [dim('0')] : [span(short(errors), { tone: 'bad' })]),
    },
    { head: 'IN', width: 5, align: 'right', rank: 3, cell: ({ promptTokens }) => short(promptTokens) },
    {
      head: 'CACHED',
      width: 6,
      align: 'right',
      rank: 4,
      cell: ({ cachedTokens }) => (cachedTokens === 0 ? [dim('-')] : [span(short(cachedTokens))]),
    },
    { head: 'OUT', width: 5, align: 'right', rank: 3, cell: ({ completionTokens }) => short(completionTokens) },
    { head: 'COST (USD)', width: 12, align: 'right', cell: ({ costNanos }) => usdInColumn(costNanos, decimals) },
  ];
}

function share(part: number, width: number): Line {
  return [{ text: '━'.repeat(part === 0 ? 0 : Math.max(1, Math.round(part * width))), tone: 'accent' }];
}

function totalLine(rows: readonly UsageRow[]): Line {
  const sum = (read: (row: UsageRow) => number) => rows.reduce((total, row) => total + read(row), 0);
  const cost = rows.reduce((total, { costNanos }) => total + costNanos, 0n);
  const tokens = sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens);
  return [
    bold('Total'),
    { text: `  ${count(sum(({ requests }) => requests))} requests, ${count(tokens)} tokens, ${usd(cost)} USD` },
  ];
}
