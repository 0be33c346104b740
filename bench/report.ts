/** The table: for each figure the medians over the rounds, and what the gateways are to the bare proxy. */
import { median, medianRatio } from './statistics.ts';

/** A line of the table: for each target its values, round by round. */
export interface Row {
  readonly label: string;
  readonly digits: number;
  /** `added`: all but the first target are shown as what comes on top of it. */
  readonly shows: 'value' | 'added';
  /** By the name of the target; empty where it was not measured. */
  readonly values: ReadonlyMap<string, readonly number[]>;
}

export interface Columns {
  /** The upstream alone. */
  readonly floor: string;
  readonly yardstick: string;
  readonly gateways: readonly string[];
}

/** Markdown that can be read as it stands. */
export function tableOf(rows: readonly Row[], columns: Columns): string {
  const { floor, yardstick, gateways } = columns;
  const head = ['', floor, yardstick, ...gateways.flatMap((name) => [name, `: ${yardstick}`])];
  const lines = rows.map((row) => {
    const ratios = gateways.flatMap((name) => [shown(row, name, floor), ratio(row, name, columns)]);
    return [row.label, shown(row, floor, floor), shown(row, yardstick, floor), ...ratios];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((cells) => cells[column]?.length ?? 0)));
  const write = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [write(head), rule, ...lines.map(write)].join('\n');
}

/** Round by round, a row's values as they are shown: as they are, or what they are above the floor. */
function valuesOf(row: Row, name: string, floor: string): readonly number[] {
  const values = row.values.get(name) ?? [];
  if (row.shows === 'value' || name === floor) return values;
  const floorValues = row.values.get(floor) ?? [];
  return values.map((value, round) => value - (floorValues[round] ?? Number.NaN));
}

function shown(row: Row, name: string, floor: string): string {
  const values = valuesOf(row, name, floor);
  if (values.length === 0) return '';
  const value = median(values);
  const sign = row.shows === 'added' && name !== floor && value >= 0 ? '+' : '';
  return sign + formatted(value, row.digits);
}

/** Of what is added there is no ratio round by round: the yardstick may add nothing in one of them. */
function ratio(row: Row, name: string, { floor, yardstick }: Columns): string {
  const values = valuesOf(row, name, floor);
  const partners = valuesOf(row, yardstick, floor);
  if (values.length === 0 || partners.length === 0) return '';
  const quotient = row.shows === 'value' ? medianRatio(values, partners) : median(values) / median(partners);
  return quotient > 0 ? `${formatted(quotient, 2)}×` : '';
}

function formatted(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
