/** A list of a view: its rows, their filter and sort order, and the visible result. Pure. */
import type { Model, View } from '../model.ts';
import type { Sort } from './state.ts';
import { passes, type Value, type Word, wordsOf } from './words.ts';

/** A field for filters and sort orders. */
export interface Field<Row> {
  /** Returns the value: amounts in USD, times in seconds. */
  read(row: Row, model: Model): Value;
  /** Whether it is a text, which sorts in ascending order first. */
  readonly isText?: true;
  /** Whether it is a time in seconds. An age changes as time passes. */
  readonly isTime?: true;
  /** Whether it changes with the gateway's snapshots. */
  readonly isLive?: true;
  /** Whether it has no column and serves only filters. */
  readonly isHidden?: true;
  /** Whether a filter word matches it only with the field's name. */
  readonly isNamed?: true;
  /** Whether the text is constant for the same row object. */
  readonly isFixed?: true;
}

export interface Listed<Row> {
  /** The rows in their default order. */
  rows(model: Model): readonly Row[];
  idOf(row: Row): string;
  /** Whether the rows are already sorted by the chosen order, as in a tree with sorted siblings. */
  readonly isOrdered?: true;
  readonly fields: Readonly<Record<string, Field<Row>>>;
}

/** Returns the fields that can sort the list, in the order of its columns. */
export function sortable<Row>({ fields }: Listed<Row>): string[] {
  return Object.keys(fields).filter((name) => fields[name]?.isHidden !== true);
}

/** Whether the first sort by a field is ascending: names from A, ages from the most recent. */
export function startsLow<Row>({ fields }: Listed<Row>, name: string): boolean {
  const field = fields[name];
  return field?.isText === true || field?.isTime === true;
}

interface Known {
  readonly of: readonly unknown[];
  readonly shown: readonly unknown[];
}

/**
 * The last results of each view: sorting 10,000 keys takes some 15 ms, and each event needs the rows before and after
 * it several times.
 */
const known = new Map<View, readonly Known[]>();
const MOST_KNOWN = 2;

/** Returns the rows that pass the filter, in the chosen order. */
export function shownOf<Row>(view: View, list: Listed<Row>, model: Model): readonly Row[] {
  const {
    filter: { text },
    sort,
  } = model.lists[view];
  const rows = list.rows(model);
  if (text === '' && sort === undefined) return rows;
  const words = wordsOf(text, Object.keys(list.fields));
  const of = [rows, text, sort, ...freshness(list, words, sort, model)];
  const last = known.get(view) ?? [];
  const found = last.find((each) => of.every((part, index) => part === each.of[index]));
  if (found !== undefined) return found.shown as readonly Row[];
  const shown = filtered(list, inOrder(view, list, rows, sort, model), words, model);
  known.set(view, [{ of, shown }, ...last].slice(0, MOST_KNOWN));
  return shown;
}

const orders = new Map<View, Known>();

/** Sorts all rows. The result is cached, so typing a filter does not sort again. */
function inOrder<Row>(view: View, list: Listed<Row>, rows: readonly Row[], sort: Sort | undefined, model: Model) {
  if (sort === undefined || list.isOrdered) return rows;
  const of = [rows, sort, ...freshness(list, [], sort, model)];
  const last = orders.get(view);
  if (last !== undefined && of.every((part, index) => part === last.of[index])) return last.shown as readonly Row[];
  const shown = sorted(list, rows, sort, model);
  orders.set(view, { of, shown });
  return shown;
}

/** The other inputs of the result. Sorting by a time does not depend on the current time. */
function freshness<Row>({ fields }: Listed<Row>, words: readonly Word[], sort: Sort | undefined, model: Model) {
  const filters = words.map(({ field }) => (field === undefined ? undefined : fields[field]));
  const isLive = [...filters, sort && fields[sort.by]].some((field) => field?.isLive);
  const isTime = filters.some((field) => field?.isTime);
  return [isLive ? model.snapshot : undefined, isLive ? model.shared : undefined, isTime ? model.nowMs : undefined];
}

/** Returns the rows that match these words. */
export function filtered<Row>(
  list: Listed<Row>,
  rows: readonly Row[],
  words: readonly Word[],
  model: Model,
): readonly Row[] {
  if (words.length === 0) return rows;
  const texts = Object.values(list.fields).filter(({ isText, isNamed }) => isText && !isNamed);
  const fixed = texts.filter(({ isFixed }) => isFixed);
  const others = texts.filter(({ isFixed }) => !isFixed);
  const isIn = (row: Row, text: string) => (field: Field<Row>) => {
    const value = field.read(row, model);
    return typeof value === 'string' && value.toLowerCase().includes(text);
  };
  const has = (row: Row, text: string) =>
    (fixed.length > 0 && fixedText(row as object, fixed, model).includes(text)) || others.some(isIn(row, text));
  return rows.filter((row) =>
    passes(
      words,
      (name) => ({ value: list.fields[name]?.read(row, model), isTime: list.fields[name]?.isTime === true }),
      (text) => has(row, text),
    ),
  );
}

const fixedOf = new WeakMap<object, string>();

/** Joins a row's fixed texts. The result is cached per row, since each key press in a filter searches all of them. */
function fixedText<Row>(row: object, fixed: readonly Field<Row>[], model: Model): string {
  const known = fixedOf.get(row);
  if (known !== undefined) return known;
  const made = fixed
    .map(({ read }) => read(row as Row, model))
    .join('\n')
    .toLowerCase();
  fixedOf.set(row, made);
  return made;
}

/** Sorts rows; those without a value are last in both directions. */
export function sorted<Row>(
  { fields }: Listed<Row>,
  rows: readonly Row[],
  sort: Sort | undefined,
  model: Model,
): readonly Row[] {
  const field = sort && fields[sort.by];
  if (field === undefined) return rows;
  const direction = sort?.isDown ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: ordered(field.read(row, model)) }));
  return keyed.sort((a, b) => compared(a.value, b.value, direction)).map(({ row }) => row);
}

function compared(a: Value, b: Value, direction: 1 | -1): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a === b ? 0 : a < b ? -direction : direction;
}

const ASCII = /^[ -~]*$/;
/** Digits to which numbers in a text are padded for sorting. */
const DIGITS = 12;

/**
 * Returns the sort key of a value: case and accents do not count, and `key-9` precedes `key-10`. Intl.Collator would
 * take 150 ms for 10,000 names.
 */
function ordered(value: Value): Value {
  if (typeof value !== 'string') return value;
  const plain = ASCII.test(value) ? value : value.normalize('NFD').replace(/\p{M}/gu, '');
  return plain.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(DIGITS, '0'));
}
