/** Moves a state from one store to another: the tables, and the order of copy and comparison. */
import { UserError } from '../core/errors.ts';
import type { Column } from '../core/layout.ts';
import type { Nanos } from '../core/money.ts';
import { HOLD, JOURNAL_COLUMNS } from './journal.ts';
import { KEY_NUMBERS, LIMITS } from './keys.ts';
import type { Row } from './rows.ts';
import { SUM_FIGURES } from './sql.ts';

/**
 * The tables of a state. The balance is moved separately. Request windows are rebuilt from the journal; windows of
 * listings start empty.
 */
export const MOVED_TABLES = [
  'keys',
  'groups',
  'users',
  'budgets',
  'budget_steps',
  'credit_entries',
  'usage_months',
  'usage_days',
  'sealed_days',
  'level_months',
  'level_days',
  'sealed_levels',
  'refusals',
  'usage_names',
  'usage_name_keys',
  'usage_name_days',
  'kept_responses',
  'holds',
  'journal',
] as const;
export type MovedTable = (typeof MOVED_TABLES)[number];

interface Columns {
  readonly text: readonly string[];
  readonly integers: readonly string[];
}

const LIMIT_COLUMNS = LIMITS.columns.map(({ name }) => name);
const SUMS: Columns = { text: ['key_id', 'model', 'source'], integers: SUM_FIGURES };

function byType(columns: readonly Column[]): Columns {
  const namesOf = (isText: boolean) =>
    columns.filter(({ type }) => (type === 'text') === isText).map(({ name }) => name);
  return { text: namesOf(true), integers: namesOf(false) };
}

/** The columns that both stores share, under the same names. Columns of holds have the names of the SQLite table. */
export const MOVED_COLUMNS: Readonly<Record<MovedTable, Columns>> = {
  keys: {
    text: ['id', 'name', 'hash', 'preview', 'state', 'allowlist', 'group_id', 'parent_id'],
    integers: [...KEY_NUMBERS.columns.map(({ name }) => name), 'created_at_ms', 'may_create', 'is_leashed'],
  },
  groups: { text: ['id', 'name', 'state', 'allowlist', 'group_id'], integers: [...LIMIT_COLUMNS, 'created_at_ms'] },
  users: { text: ['owner_id', 'name', 'state'], integers: [...LIMIT_COLUMNS, 'required'] },
  budgets: { text: ['key_id', 'period'], integers: ['limit_nanos', 'window_s', 'exact_from_ms'] },
  budget_steps: { text: ['key_id'], integers: ['window_s', 'at_ms', 'cost_nanos'] },
  credit_entries: { text: ['note'], integers: ['id', 'at_ms', 'amount_nanos', 'balance_nanos'] },
  usage_months: { text: ['month', ...SUMS.text], integers: [...SUMS.integers, 'last_at_ms'] },
  usage_days: { text: ['day', 'group_ids', ...SUMS.text], integers: SUMS.integers },
  level_months: { text: ['level_id', 'month'], integers: SUMS.integers },
  level_days: { text: ['level_id', 'day'], integers: SUMS.integers },
  sealed_levels: { text: ['level_id', 'day'], integers: [...SUMS.integers, 'settled_to_ms'] },
  sealed_days: { text: ['day', 'group_ids', ...SUMS.text], integers: [...SUMS.integers, 'settled_to_ms'] },
  usage_names: { text: ['month', 'kind', 'name'], integers: ['id'] },
  usage_name_keys: { text: ['month', 'kind', 'key_id', 'name'], integers: [] },
  usage_name_days: { text: ['day', 'kind', 'name', 'key_id', 'model'], integers: SUM_FIGURES },
  kept_responses: { text: ['key_id', 'id', 'response_id', 'upstream', 'model'], integers: ['tokens', 'at_ms'] },
  refusals: { text: ['month', 'key_id', 'code', 'reason'], integers: ['requests', 'last_at_ms'] },
  holds: byType(HOLD.columns),
  journal: byType(JOURNAL_COLUMNS),
};

/** All columns of a table, in one order. */
export function columnsOf(table: MovedTable): readonly string[] {
  const { text, integers } = MOVED_COLUMNS[table];
  return [...text, ...integers];
}

/** Sums of 64-bit integers can overflow 64 bits; sums of their halves cannot. */
const HALF = 1_000_000_000;

/** Selects the number of rows, of values in each column, and the sum of each integer column. */
export function figuresQuery(table: MovedTable, from: string): string {
  const { text, integers } = MOVED_COLUMNS[table];
  const figures = [
    ...text.map((column) => `count(${column}) AS ${column}`),
    ...integers.flatMap((column) => [
      `count(${column}) AS ${column}`,
      `coalesce(sum(${column} / ${HALF}), 0) AS ${column}_high`,
      `coalesce(sum(${column} % ${HALF}), 0) AS ${column}_low`,
    ]),
  ];
  return `SELECT count(*) AS rows, ${figures.join(', ')} FROM ${from}`;
}

/** The input of an audit. `read` runs a query in the transaction of the move. */
export type Contents =
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'database';
      readonly read: (text: string, values?: readonly (string | number)[]) => Promise<Row[]>;
    };

/** The state to read. From `begin` on it is locked against changes, and no gateway runs on it. */
export interface MoveSource {
  readonly contents: Contents;
  /** Call it after the audit: one process must not open a file twice. */
  begin(): Promise<void>;
  figures(table: MovedTable): Promise<Row>;
  /** All rows, in batches of some thousand. */
  rows(table: MovedTable): AsyncIterable<readonly Row[]>;
  balance(): Promise<Nanos>;
  close(): Promise<void>;
}

/** An empty state to fill. It stays empty without `commit`. */
export interface MoveTarget {
  readonly contents: Contents;
  /** Description of the newly created file or schema; undefined if it existed. */
  readonly created: string | undefined;
  insert(table: MovedTable, rows: readonly Row[]): Promise<void>;
  /** Call it after all tables are filled: writes the derived data. */
  complete(balanceNanos: Nanos): Promise<void>;
  figures(table: MovedTable): Promise<Row>;
  /** After this call only an audit and `commit` are allowed. */
  seal(): Promise<void>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

export interface MoveOptions {
  /** Rejects with a UserError if an audit finds a difference. */
  readonly verify: (contents: Contents, side: 'source' | 'target') => Promise<void>;
  /** Called with the number of rows copied and the total. */
  readonly onProgress: (copied: number, of: number) => void;
}

export interface Moved {
  /** The number of rows, by table. */
  readonly rows: Readonly<Record<MovedTable, number>>;
  readonly balanceNanos: Nanos;
}

/** Copies all tables, compares both sides, and commits. Rejects with a UserError and leaves the target empty on failure. */
export async function moveState(source: MoveSource, target: MoveTarget, options: MoveOptions): Promise<Moved> {
  await options.verify(source.contents, 'source');
  await source.begin();
  const figures = new Map<MovedTable, Row>();
  for (const table of MOVED_TABLES) figures.set(table, await source.figures(table));
  const rowsOf = (table: MovedTable) => Number(figures.get(table)?.rows);
  const total = MOVED_TABLES.reduce((sum, table) => sum + rowsOf(table), 0);
  let copied = 0;
  for (const table of MOVED_TABLES) {
    for await (const rows of source.rows(table)) {
      await target.insert(table, rows);
      copied += rows.length;
      options.onProgress(copied, total);
    }
  }
  const balanceNanos = await source.balance();
  await target.complete(balanceNanos);
  for (const [table, expected] of figures) compare(table, expected, await target.figures(table));
  await target.seal();
  await options.verify(target.contents, 'target');
  await target.commit();
  return {
    rows: Object.fromEntries(MOVED_TABLES.map((table) => [table, rowsOf(table)])) as Record<MovedTable, number>,
    balanceNanos,
  };
}

function compare(table: MovedTable, expected: Row, actual: Row): void {
  for (const [figure, value] of Object.entries(expected)) {
    if (actual[figure] === value) continue;
    throw new UserError(
      `the copy of ${table} differs: ${figure} is ${actual[figure]}, but the source has ${value}; nothing was moved`,
    );
  }
}
