/** What all views that are lists have in common: the way here, the filter, the table, and the details of a row. */
import { dateTime } from '../../operator/format.ts';
import { clean, widthOf, wrap } from '../../operator/text.ts';
import { VIEW_NAMES } from '../bindings.ts';
import { beside, bold, type Click, dim, fitLine, type Line, lineWidth, span, spread } from '../draw/line.ts';
import { type Column, firstShown, rangeText, table } from '../draw/table.ts';
import { typedSpans } from '../draw/typed.ts';
import { LISTS } from '../lists/lists.ts';
import type { Sort } from '../lists/state.ts';
import { FIRST_LISTS, type Model } from '../model.ts';
import { hasPane } from '../select.ts';

/** A column, and the field that the list is ordered by with it. */
export interface ListColumn<Row> extends Column<Row> {
  readonly field?: string;
  /** Whether what it shows falls as the field rises: a moment, and how long ago it was. */
  readonly isReversed?: true;
}

export interface ListView<Row> {
  /** Beside the title: how many there are, or what they are. */
  readonly about: Line;
  readonly rows: readonly Row[];
  readonly columns: readonly ListColumn<Row>[];
  /** What is known of the row under the cursor; undefined if nobody asked for it, and there is no pane for it. */
  readonly detail: ((width: number, height: number) => Line[]) | undefined;
  /** What to say if there are no rows, without a filter. */
  readonly empty: readonly Line[];
  /** At the right of the title, if there is room. */
  readonly aside?: Line;
  /** Beneath the table. */
  readonly foot?: Line;
}

const MAX_DETAIL_COLUMNS = 84;
/** Of a table with details beneath, at least the head and three rows are shown. */
const LEAST_TABLE = 4;
const GAP = 3;
/** Of the screen, where they stand beside the table. */
const DETAIL_SHARE = 0.4;
/** Columns that a filter being typed leaves. */
const BESIDE_TYPED = 8;
const LEAST_TYPED = 10;
/** Of the title, for the way to the view. */
const WAY_SHARE = 0.6;

export function listView<Row>(model: Model, height: number, view: ListView<Row>): Line[] {
  const { columns } = model;
  const { rows, detail, foot } = view;
  const filter = filterLine(model);
  const title: Line = [...wayTo(model), { text: '  ' }, ...view.about, ...orderOf(model)];
  // The filter may need a line of its own.
  const isApart = lineWidth(title) + lineWidth(filter) > columns;
  const heads = (aside: Line): Line[] =>
    isApart
      ? [spread(title, aside, columns), fitLine(filter, columns)]
      : [spread([...title, ...filter], aside, columns)];
  const feet = foot === undefined ? [] : [foot];
  const room = height - (isApart ? 2 : 1) - feet.length;
  if (rows.length === 0) return [...heads(view.aside ?? []), [], ...emptyLines(model, view.empty)];
  const isBeside = detail !== undefined && hasPane(model);
  const besideWidth = isBeside ? Math.min(MAX_DETAIL_COLUMNS, Math.floor(columns * DETAIL_SHARE)) : 0;
  const below = detail === undefined || isBeside ? [] : [[], ...detail(columns, room - LEAST_TABLE - 1)];
  const tableHeight = Math.max(LEAST_TABLE, room - below.length);
  const left = isBeside ? columns - besideWidth - GAP : columns;
  const lines = tableOf(model, view, left, tableHeight);
  const body = isBeside
    ? beside(
        [
          { lines, width: left },
          { lines: detail(besideWidth, room), width: besideWidth },
        ],
        GAP,
      )
    : [...lines, ...below];
  return [
    ...heads([...(view.aside ?? []), ...range(model, rows.length, tableHeight - 1)]),
    ...body.slice(0, room),
    ...feet,
  ];
}

/** Columns for the longest of these texts, but at least and at most so many. */
export function longest<Row>(rows: readonly Row[], text: (row: Row) => string, least: number, most: number): number {
  return rows.reduce((width, row) => Math.max(width, Math.min(most, text(row).length)), least);
}

/** Why requests failed or were refused; none if none did: the room is for the others. */
export function whyColumn<Row>(rows: readonly Row[], why: (row: Row) => string): ListColumn<Row>[] {
  if (!rows.some((row) => why(row) !== '')) return [];
  const cell = (row: Row) => [span(why(row), { tone: 'warn' })];
  return [{ head: 'WHY', field: 'err', width: 40, least: 18, grows: true, rank: 1, cell }];
}

/** Which of the rows are on the screen, if not all are. */
function range({ lists, view }: Model, total: number, shown: number): Line {
  const text = rangeText(firstShown(total, shown, lists[view].cursor), shown, total);
  return text === '' ? [] : [dim(`  ${text}`)];
}

function tableOf<Row>(model: Model, { columns, rows }: ListView<Row>, width: number, height: number): Line[] {
  const { cursor, sort } = model.lists[model.view];
  const { sortable } = LISTS[model.view];
  const heads = marked(columns, sort).map((column) => ({ ...column, click: orderBy(column, sortable) }));
  return table(heads, rows, { width, height, cursor, placeOf: (index) => index });
}

function orderBy<Row>({ field: by }: ListColumn<Row>, sortable: readonly string[]): Click | undefined {
  return by !== undefined && sortable.includes(by) ? { on: 'head', which: by } : undefined;
}

function arrowOf({ isDown }: Sort): string {
  return isDown ? '↓' : '↑';
}

/** The column that the list is ordered by, with the direction in its head. */
function marked<Row>(columns: readonly ListColumn<Row>[], sort: Sort | undefined): readonly ListColumn<Row>[] {
  return columns.map((column) => {
    if (sort === undefined || column.field !== sort.by) return column;
    const head = `${column.head} ${arrowOf(column.isReversed ? { ...sort, isDown: !sort.isDown } : sort)}`;
    return { ...column, head, width: Math.max(column.width, widthOf(head)) };
  });
}

/** Said here as well: where room is short, the column may not be shown. */
function orderOf({ lists, view }: Model): Line {
  const { sort } = lists[view];
  if (sort === undefined || sort.by === FIRST_LISTS[view].sort?.by) return [];
  return [dim(`, by ${sort.by} ${arrowOf(sort)}`)];
}

/** Empty if nothing is filtered. */
export function filterLine({ lists, view, columns }: Model): Line {
  const { filter, isTyping } = lists[view];
  if (filter.text === '' && !isTyping) return [];
  const wrong = LISTS[view].unreadable(filter.text);
  const told = wrong === undefined ? [] : [span(`  ${clean(wrong)}: no figure`, { tone: 'bad' })];
  if (!isTyping) return [dim('  / '), span(clean(filter.text), { tone: 'accent' }), ...told];
  const room = Math.max(LEAST_TYPED, columns - BESIDE_TYPED - lineWidth(told));
  return [dim('  / '), ...typedSpans(filter, room, { tone: 'accent' }), ...told];
}

/** How one has come here, as a reader says it: `Keys › web-app › Requests`. Of a long way, its end. */
export function wayTo({ trail, view, columns }: Model): Line {
  const steps = trail.flatMap((place, index) => {
    // The view that a step led to is named as the next begins there.
    const chosen = clean(place.label);
    return index === 0 || place.view !== trail[index - 1]?.view ? [VIEW_NAMES[place.view], chosen] : [chosen];
  });
  while (steps.length > 1 && widthOf(steps.join(' › ')) > columns * WAY_SHARE) steps.splice(0, 2, '…');
  return [dim(steps.map((each) => `${each} › `).join('')), bold(VIEW_NAMES[view])];
}

function refusedText({ requests: { refusedSinceMs } }: Model): string {
  if (refusedSinceMs === undefined) return 'Refused requests are known only while a gateway runs here.';
  return `Refused requests are known since ${dateTime(refusedSinceMs)}, when the gateway here began to keep them.`;
}

/** Nothing passes the filter: here are its words. */
function emptyLines(model: Model, empty: readonly Line[]): readonly Line[] {
  const { filter } = model.lists[model.view];
  if (filter.text === '') return empty;
  const { fields } = LISTS[model.view];
  const unknown = [...filter.text.matchAll(/(?<=^|\s|-)[a-z]+(?=[:=<>])/g)]
    .map(([name]) => name)
    .find((name) => !fields.includes(name));
  const words = wrap(`Words: ${fields.map((field) => `${field}:`).join(' ')}`, model.columns);
  return [
    [dim(`Nothing passes ${JSON.stringify(clean(filter.text))}.`)],
    ...(unknown === undefined ? [] : [[span(`There is no field ${unknown}.`, { tone: 'warn' })]]),
    ...(model.view === 'requests' ? [[dim(refusedText(model))]] : []),
    ...words.map((line) => [dim(line)]),
    [dim('Also > and < for figures and times, - for not: cost>1 age<2h -state:ok')],
  ];
}
