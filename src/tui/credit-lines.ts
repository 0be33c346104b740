/** The credit history as lines: newest first, with complete notes. Pure. */
import { program } from '../core/program.ts';
import { count, dateTime, exactUsd, inOneFormat } from '../operator/format.ts';
import { clean, pad, widthOf, wrap } from '../operator/text.ts';
import type { CreditEntry } from '../state/account.ts';
import { boxWidth } from './draw/box.ts';
import { dim, type Line, span } from './draw/line.ts';
import type { CreditDialog } from './model.ts';

/** Maximum entries shown; the command prints older ones. */
export const MAX_ENTRIES = 500;
const GAP = '  ';
/** Minimum columns for a note; with fewer it gets a line of its own. */
const LEAST_NOTE = 16;

export function creditLines({ entries, total }: CreditDialog, windowColumns: number): Line[] {
  const width = boxWidth(windowColumns);
  const cells = columnsOf(entries);
  const before = [cells.at, cells.amount, cells.balance].reduce(
    (sum, [head = '']) => sum + widthOf(head) + GAP.length,
    0,
  );
  const isBeside = width - before >= LEAST_NOTE;
  const margin = isBeside ? before : GAP.length;
  const lines = entries.flatMap(({ amountNanos, note }, index): Line[] => {
    const row = index + 1;
    const figures: Line = [
      dim(`${cells.at[row]}${GAP}`),
      span(`${cells.amount[row]}${GAP}`, { tone: amountNanos < 0n ? 'warn' : 'good' }),
      { text: `${cells.balance[row]}${GAP}` },
    ];
    const notes = note === '' ? [] : wrap(clean(note), width - margin);
    const [first = '', ...more] = isBeside ? notes : ['', ...notes];
    return [[...figures, { text: first }], ...more.map((text): Line => [{ text: ' '.repeat(margin) + text }])];
  });
  const head = [cells.at, cells.amount, cells.balance].map(([title = '']) => title + GAP).join('');
  const older = total - entries.length;
  return [
    [dim(`${head}${isBeside ? 'NOTE' : ''}`)],
    ...lines,
    ...(older > 0 ? [[dim(`${count(older)} older ones: ${program()} credit history`)]] : []),
  ];
}

/** Returns the columns, each with its head first, and padded to one width. */
function columnsOf(entries: readonly CreditEntry[]) {
  const amounts = (head: string, nanos: readonly bigint[]) => {
    const cells = [
      head,
      ...inOneFormat(nanos.map((each) => (each > 0n && head === AMOUNT ? `+${exactUsd(each)}` : exactUsd(each)))),
    ];
    const width = Math.max(...cells.map(widthOf));
    return cells.map((cell) => pad(cell, width, 'right'));
  };
  const at = ['AT (UTC)', ...entries.map(({ atMs }) => dateTime(atMs))];
  const atWidth = Math.max(...at.map(widthOf));
  return {
    at: at.map((cell) => pad(cell, atWidth)),
    amount: amounts(
      AMOUNT,
      entries.map(({ amountNanos }) => amountNanos),
    ),
    balance: amounts(
      'BALANCE (USD)',
      entries.map(({ balanceNanos }) => balanceNanos),
    ),
  };
}

const AMOUNT = 'AMOUNT (USD)';
