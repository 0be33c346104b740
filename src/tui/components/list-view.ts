/** The common parts of list views: the breadcrumb, the filter, the table, and the details of a row. */
import { Box, useIsScreenReaderEnabled } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import { clean, widthOf, wrap } from '../../operator/text.ts';
import { VIEW_NAMES } from '../bindings.ts';
import { bold, dim, type Line, lineWidth, span } from '../draw/line.ts';
import { type Column, firstShown, rangeText } from '../draw/table.ts';
import { typedSpans } from '../draw/typed.ts';
import { LISTS } from '../lists/lists.ts';
import type { Sort } from '../lists/state.ts';
import { localTime, zoneLabel } from '../local-time.ts';
import { FIRST_LISTS, type Model } from '../model.ts';
import type { Click } from '../pointer.ts';
import { hasPane } from '../select.ts';
import { Lines, Spread, Styled } from './styled.ts';
import { Table } from './table.ts';

/** A column, with the field that sorting by it uses. */
export interface ListColumn<Row> extends Column<Row> {
  readonly field?: string;
  /** Whether the displayed value falls as the field rises, such as the age of a timestamp. */
  readonly isReversed?: true;
}

/** Lines side by side, each column at the same width. */
export type Blocks = readonly (readonly Line[])[];

export interface ListViewProps<Row> {
  readonly model: Model;
  /** Height in lines. */
  readonly height: number;
  /** The text after the title: a count, or a description. A node can be clicked. */
  readonly about: Line | { readonly node: ReactNode; readonly width: number };
  readonly rows: readonly Row[];
  readonly columns: readonly ListColumn<Row>[];
  /** The details of the row under the cursor; undefined if they are closed and the window has no pane. */
  readonly detail: ((width: number, height: number) => Blocks) | undefined;
  /** The share of the screen for details at the right of the table. */
  readonly detailShare?: number;
  /** The text of an empty list without a filter. */
  readonly empty: readonly Line[];
  /** Text at the right of the title, if it fits. */
  readonly aside?: Line;
  /** The line below the table. */
  readonly foot?: { readonly left: Line; readonly right: Line };
}

const MAX_DETAIL_COLUMNS = 84;
/** Minimum lines of a table above details: the head and three rows. */
const LEAST_TABLE = 4;
const GAP = 3;
/** Columns between blocks of details. */
const BLOCK_GAP = 2;
/** The default share of the screen for details at the right of the table. */
const DETAIL_SHARE = 0.4;
/** Columns that remain for other text while a filter is being typed. */
const BESIDE_TYPED = 8;
const LEAST_TYPED = 10;
/** The share of the title line for the breadcrumb. */
const WAY_SHARE = 0.6;

export function ListView<Row>(props: ListViewProps<Row>): ReactNode {
  const { model, height, rows, columns, detail, foot, aside = [], empty, detailShare = DETAIL_SHARE } = props;
  const isRead = useIsScreenReaderEnabled();
  const filter = filterLine(model);
  const { title, width: titleWidth } = titleOf(props);
  // A long filter gets a line of its own.
  const isApart = titleWidth + lineWidth(filter) > model.columns;
  const room = height - (isApart ? 2 : 1) - (foot === undefined ? 0 : 1);
  const isBeside = detail !== undefined && hasPane(model);
  const besideWidth = isBeside ? Math.min(MAX_DETAIL_COLUMNS, Math.floor(model.columns * detailShare)) : 0;
  const below = detail === undefined || isBeside ? undefined : detail(model.columns, room - LEAST_TABLE - 1);
  const belowHeight = below === undefined ? 0 : 1 + heightOf(below);
  const tableHeight = isRead ? room : Math.max(LEAST_TABLE, room - belowHeight);
  const width = isBeside ? model.columns - besideWidth - GAP : model.columns;
  const titles = h(Titles, {
    title,
    titleWidth,
    filter,
    isApart,
    aside: [...aside, ...range(model, rows.length, tableHeight - 1)],
    model,
  });
  if (rows.length === 0)
    return h(Box, { flexDirection: 'column' }, titles, h(Lines, { lines: [[], ...emptyLines(model, empty)] }));
  return h(
    Box,
    { flexDirection: 'column', height },
    titles,
    h(
      Box,
      { maxHeight: room, columnGap: GAP, rowGap: 1, flexDirection: isBeside ? 'row' : 'column', overflow: 'hidden' },
      h(ListTable<Row>, { model, columns, rows, width, height: tableHeight }),
      isBeside ? h(Detail, { blocks: detail(besideWidth, room), width: besideWidth }) : null,
      below === undefined ? null : h(Detail, { blocks: below, width: model.columns }),
    ),
    foot === undefined ? null : h(Spread, { ...foot, width: model.columns }),
  );
}

function heightOf(blocks: Blocks): number {
  return Math.max(0, ...blocks.map((lines) => lines.length));
}

/** Returns the width of each block if this many share a line. */
export function blockWidth(width: number, blocks: number): number {
  return Math.floor((width - BLOCK_GAP * (blocks - 1)) / blocks);
}

function Detail({ blocks, width }: { readonly blocks: Blocks; readonly width: number }): ReactNode {
  return h(
    Box,
    { gap: BLOCK_GAP, width, flexShrink: 0 },
    blocks.map((lines, index) => h(Lines, { key: index, lines, width: blockWidth(width, blocks.length) })),
  );
}

/** Returns the title as a node, and its width. */
function titleOf<Row>({ model, about }: ListViewProps<Row>): { readonly title: ReactNode; readonly width: number } {
  const way: Line = [...wayTo(model), { text: '  ' }];
  const order = orderOf(model);
  if (!('node' in about)) {
    const line = [...way, ...about, ...order];
    return { title: h(Styled, { line }), width: lineWidth(line) };
  }
  const title = h(
    Box,
    { flexShrink: 0 },
    h(Styled, { line: way }),
    about.node,
    h(Styled, { line: order.length > 0 ? order : [{ text: '' }] }),
  );
  return { title, width: lineWidth(way) + about.width + lineWidth(order) };
}

interface TitlesProps {
  readonly title: ReactNode;
  readonly titleWidth: number;
  readonly filter: Line;
  readonly isApart: boolean;
  readonly aside: Line;
  readonly model: Model;
}

/** The title line. In a narrow window the text at the right is left out. */
function Titles({ title, titleWidth, filter, isApart, aside, model }: TitlesProps): ReactNode {
  const left = titleWidth + (isApart ? 0 : lineWidth(filter));
  const first = h(
    Box,
    { justifyContent: 'space-between', height: 1, flexShrink: 0, overflow: 'hidden' },
    h(Box, null, title, isApart || filter.length === 0 ? null : h(Styled, { line: filter })),
    aside.length > 0 && left + lineWidth(aside) < model.columns ? h(Styled, { line: aside }) : null,
  );
  return h(Box, { flexDirection: 'column', flexShrink: 0 }, first, isApart ? h(Styled, { line: filter }) : null);
}

interface ListTableProps<Row> {
  readonly model: Model;
  readonly columns: readonly ListColumn<Row>[];
  readonly rows: readonly Row[];
  readonly width: number;
  readonly height: number;
}

function ListTable<Row>({ model, columns, rows, width, height }: ListTableProps<Row>): ReactNode {
  const { cursor, sort } = model.lists[model.view];
  const { sortable } = LISTS[model.view];
  const clickOf = ({ field: by }: ListColumn<Row>): Click | undefined =>
    by !== undefined && sortable.includes(by) ? { on: 'head', which: by } : undefined;
  const placeOf = (index: number) => index;
  return h(Table<Row>, { columns: marked(columns, sort), rows, width, height, cursor, placeOf, clickOf });
}

/** Returns the columns for the longest of these texts, between a minimum and a maximum. */
export function longest<Row>(rows: readonly Row[], text: (row: Row) => string, least: number, most: number): number {
  return rows.reduce((width, row) => Math.max(width, Math.min(most, text(row).length)), least);
}

/** A column with the reasons for failures and refusals; empty without any, so that other columns get its width. */
export function whyColumn<Row>(rows: readonly Row[], why: (row: Row) => string): ListColumn<Row>[] {
  if (!rows.some((row) => why(row) !== '')) return [];
  const cell = (row: Row) => [span(why(row), { tone: 'warn' })];
  return [{ head: 'WHY', field: 'err', width: 40, least: 18, grows: true, rank: 1, cell }];
}

/** Returns the range of visible rows, unless all rows are visible. */
function range({ lists, view }: Model, total: number, shown: number): Line {
  const text = total === 0 ? '' : rangeText(firstShown(total, shown, lists[view].cursor), shown, total);
  return text === '' ? [] : [dim(`  ${text}`)];
}

function arrowOf({ isDown }: Sort): string {
  return isDown ? '↓' : '↑';
}

/** Marks the head of the column that sorts the list with the direction. */
function marked<Row>(columns: readonly ListColumn<Row>[], sort: Sort | undefined): readonly ListColumn<Row>[] {
  return columns.map((column) => {
    if (sort === undefined || column.field !== sort.by) return column;
    const head = `${column.head} ${arrowOf(column.isReversed ? { ...sort, isDown: !sort.isDown } : sort)}`;
    return { ...column, head, width: Math.max(column.width, widthOf(head)) };
  });
}

/** The sort order for the title: in a narrow window its column may be hidden. */
function orderOf({ lists, view }: Model): Line {
  const { sort } = lists[view];
  if (sort === undefined || sort.by === FIRST_LISTS[view].sort?.by) return [];
  return [dim(`, by ${sort.by} ${arrowOf(sort)}`)];
}

/** Returns the filter line; empty without a filter. */
export function filterLine({ lists, view, columns }: Model): Line {
  const { filter, isTyping } = lists[view];
  if (filter.text === '' && !isTyping) return [];
  const wrong = LISTS[view].unreadable(filter.text);
  const told = wrong === undefined ? [] : [span(`  ${clean(wrong)}: no figure`, { tone: 'bad' })];
  if (!isTyping) return [dim('  / '), span(clean(filter.text), { tone: 'accent' }), ...told];
  const room = Math.max(LEAST_TYPED, columns - BESIDE_TYPED - lineWidth(told));
  return [dim('  / '), ...typedSpans(filter, room, { tone: 'accent' }), ...told];
}

/** The breadcrumb, such as `Keys › web-app › Requests`; a long one loses its beginning. */
export function wayTo({ trail, view, columns }: Model): Line {
  const steps = trail.flatMap((place, index) => {
    // A step within one view repeats only the label of the chosen row, not the view's name.
    const chosen = clean(place.label);
    return index === 0 || place.view !== trail[index - 1]?.view ? [VIEW_NAMES[place.view], chosen] : [chosen];
  });
  while (steps.length > 1 && widthOf(steps.join(' › ')) > columns * WAY_SHARE) steps.splice(0, 2, '…');
  return [dim(steps.map((each) => `${each} › `).join('')), bold(VIEW_NAMES[view])];
}

function refusedText({ requests: { refusedSinceMs } }: Model): string {
  if (refusedSinceMs === undefined) return 'Refused requests are known only while a gateway runs here.';
  return `Refused requests are known since ${localTime(refusedSinceMs)}${zoneLabel(refusedSinceMs)}, when the gateway here began to keep them.`;
}

/** The text if the filter matches no row; it repeats the filter. */
function emptyLines(model: Model, empty: readonly Line[]): readonly Line[] {
  const { filter } = model.lists[model.view];
  if (filter.text === '') return empty;
  const { fields } = LISTS[model.view];
  const unknown = [...filter.text.matchAll(/(?<=^|\s|-)[a-z]+(?=[:=<>])/g)]
    .map(([name]) => name)
    .find((name) => !fields.includes(name));
  const words = wrap(`Words: ${fields.map((field) => `${field}:`).join(' ')}`, model.columns);
  return [
    [dim(`No rows match ${JSON.stringify(clean(filter.text))}.`)],
    ...(unknown === undefined ? [] : [[span(`There is no field ${unknown}.`, { tone: 'warn' })]]),
    ...(model.view === 'requests' ? [[dim(refusedText(model))]] : []),
    ...words.map((line) => [dim(line)]),
    [dim('Also > and < for figures and times, - for not: cost>1 age<2h -state:ok')],
  ];
}
