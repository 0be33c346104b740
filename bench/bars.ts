/** The performance targets of the gateway, their verdicts, and the rows that the page prints. */
import { CRASH, GATEWAY, THREADS, YARDSTICK } from './contestants.ts';
import { ACTIVE, CPU_PER_EVENT, MEMORY, SILENT } from './phases/holds.ts';
import { IDLE_MEMORY, PROCESS, START } from './phases/starts.ts';
import { type Row, rowName } from './rows.ts';
import { BARE_PROXY } from './targets.ts';
import {
  AT_RATE,
  CPU_PER_REQUEST,
  CPU_PER_EVENT as CPU_PER_STREAMED_EVENT,
  closedName,
  FLOODS,
  MEMORY_AFTER,
  MOST_CONNECTIONS,
  P50,
  P99,
  STREAMS_AT_RATE,
  THROUGHPUT,
  USUAL_CONNECTIONS,
} from './workloads.ts';

export interface Bar {
  /** The name of the row that the target limits. */
  readonly row: string;
  /** The measured server, and the server it is compared with, unless the limit is absolute. */
  readonly target: string;
  readonly other?: string;
  readonly of: 'value' | 'ratio' | 'difference';
  readonly is: 'at least' | 'at most' | 'under';
  readonly limit: number;
  readonly unit: string;
}

const CONNECTIONS = closedName(USUAL_CONNECTIONS);
const RATIO = { other: YARDSTICK, of: 'ratio', unit: '×' } as const;
const ADDED = { other: YARDSTICK, of: 'difference', is: 'under', unit: ' ms' } as const;
const VALUE = { of: 'value', is: 'under' } as const;

export const BARS: readonly Bar[] = [
  { row: rowName(PROCESS, START.label), target: GATEWAY, ...RATIO, is: 'at most', limit: 1.5 },
  { row: rowName(PROCESS, IDLE_MEMORY.label), target: GATEWAY, ...VALUE, limit: 85, unit: ' MB' },
  { row: rowName(ACTIVE, CPU_PER_EVENT.label), target: GATEWAY, ...RATIO, is: 'at most', limit: 1.3 },
  { row: rowName(SILENT, MEMORY.label), target: GATEWAY, ...RATIO, other: BARE_PROXY, is: 'at most', limit: 1.3 },
  { row: rowName(CONNECTIONS, THROUGHPUT), target: GATEWAY, ...RATIO, is: 'at least', limit: 0.5 },
  { row: rowName(CONNECTIONS, CPU_PER_REQUEST), target: GATEWAY, ...RATIO, is: 'at most', limit: 1.9 },
  { row: rowName(CONNECTIONS, CPU_PER_REQUEST), target: CRASH, ...RATIO, is: 'at most', limit: 1.7 },
  { row: rowName(CONNECTIONS, P99), target: GATEWAY, ...RATIO, is: 'at most', limit: 1.5 },
  { row: rowName(CONNECTIONS, THROUGHPUT), target: THREADS, ...RATIO, other: GATEWAY, is: 'at least', limit: 1.5 },
  { row: rowName(closedName(1), P50), target: CRASH, ...ADDED, limit: 0.2 },
  { row: rowName(closedName(1), CPU_PER_REQUEST), target: GATEWAY, ...RATIO, is: 'at most', limit: 5 },
  { row: rowName(closedName(MOST_CONNECTIONS), MEMORY_AFTER), target: GATEWAY, ...VALUE, limit: 220, unit: ' MB' },
  { row: rowName(AT_RATE, P99), target: GATEWAY, ...VALUE, limit: 1.5, unit: ' ms' },
  { row: rowName(STREAMS_AT_RATE, P50), target: GATEWAY, ...ADDED, limit: 0.3 },
];

/** Rows that the page prints although they have no target. */
const ADDITIONAL_ROWS = [rowName(STREAMS_AT_RATE, CPU_PER_STREAMED_EVENT), rowName(FLOODS, CPU_PER_STREAMED_EVENT)];

/** The rows of the page; the command prints all rows. */
export function rowsOfPage(rows: readonly Row[]): Row[] {
  const names = new Set([...BARS.map(({ row }) => row), ...ADDITIONAL_ROWS]);
  return rows.filter(({ name }) => names.has(name));
}

const SIGNS = { 'at least': '≥', 'at most': '≤', under: '<' } as const;

/** A target as a cell of the table. Empty if it was not measured. */
export function shownBar(bar: Bar, row: Row): string {
  const value = figureOf(bar, row);
  if (value === undefined) return '';
  const { target, other, of, is, limit, unit } = bar;
  const server = target === GATEWAY ? '' : `\`${target}\` `;
  const compared = of === 'difference' ? ` above ${other}` : of === 'ratio' && other !== YARDSTICK ? ` ${other}` : '';
  const digits = of === 'value' && Number.isInteger(limit) ? 0 : 2;
  const verdict = isCleared(bar, value) ? 'met' : '**missed**';
  return `${server}${SIGNS[is]}${limit}${unit}${compared}: ${value.toFixed(digits)}${unit}, ${verdict}`;
}

function figureOf({ target, other = target, of }: Bar, row: Row): number | undefined {
  switch (of) {
    case 'value':
      return row.median(target);
    case 'ratio':
      return row.ratio(target, other);
    case 'difference':
      return row.difference(target, other);
  }
}

function isCleared({ is, limit }: Bar, value: number): boolean {
  switch (is) {
    case 'at least':
      return value >= limit;
    case 'at most':
      return value <= limit;
    case 'under':
      return value < limit;
  }
}
