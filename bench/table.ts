/** Markdown tables, aligned so that they are readable as text. */
import { type Bar, shownBar } from './bars.ts';
import { FLOOR } from './phases/bench.ts';
import type { Row } from './rows.ts';

export interface Column {
  readonly head: string;
  cell(row: Row): string;
}

/** The figures of one target. */
export function valueColumn(name: string): Column {
  return { head: name, cell: (row) => shown(row, name) };
}

/** The figures of one target, with its ratio to another. */
export function comparedColumn(name: string, other: string): Column {
  return {
    head: `${name} (: ${other})`,
    cell: (row) => {
      const ratio = shownRatio(row, name, other);
      return shown(row, name) + (ratio === '' ? '' : ` (${ratio})`);
    },
  };
}

export function ratioColumn(name: string, other: string): Column {
  return { head: `: ${other}`, cell: (row) => shownRatio(row, name, other) };
}

export function barColumn(bars: readonly Bar[]): Column {
  const of = (row: Row) => bars.filter((bar) => bar.row === row.name).map((bar) => shownBar(bar, row));
  return {
    head: 'target',
    cell: (row) =>
      of(row)
        .filter((text) => text !== '')
        .join('; '),
  };
}

export function tableOf(rows: readonly Row[], columns: readonly Column[]): string {
  const head = ['', ...columns.map((column) => column.head)];
  const lines = rows.map((row) => [row.name, ...columns.map((column) => column.cell(row))]);
  const isText = (column: number) => column === 0 || head[column] === 'target';
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((cells) => cells[column]?.length ?? 0)));
  const padded = (cell: string, column: number) =>
    isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const write = (cells: readonly string[]) => `| ${cells.map(padded).join(' | ')} |`;
  const rule = widths.map((width, column) => (isText(column) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`));
  return [write(head), `|${rule.join('|')}|`, ...lines.map(write)].join('\n');
}

/** A latency is shown with the difference from the upstream alone: `0.476 (+0.452)`. */
function shown(row: Row, name: string): string {
  const { digits, shows } = row.shape;
  if (row.hasFailed(name)) return 'fails';
  const value = row.median(name);
  if (value === undefined) return '';
  const added = shows === 'latency' && name !== FLOOR ? row.difference(name, FLOOR) : undefined;
  if (added === undefined) return formatted(value, digits);
  return `${formatted(value, digits)} (${added < 0 ? '' : '+'}${formatted(added, digits)})`;
}

function shownRatio(row: Row, name: string, other: string): string {
  const ratio = row.ratio(name, other);
  return ratio === undefined ? '' : `${formatted(ratio, 2)}×`;
}

function formatted(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
