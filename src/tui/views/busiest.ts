/** The keys that currently spend most, and those that are refused. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import type { KeyActivityRow } from '../../control/protocol.ts';
import { NANOS_PER_USD, type Nanos, parseUsd } from '../../core/money.ts';
import { short, usdInColumn } from '../../operator/format.ts';
import { Styled } from '../components/styled.ts';
import { Table } from '../components/table.ts';
import { spark } from '../draw/braille.ts';
import { bar } from '../draw/chart.ts';
import { dim, EMPTY, type Line, span } from '../draw/line.ts';
import type { Column } from '../draw/table.ts';
import { chosenItem, placesOf, shownItems } from '../lists/overview.ts';
import type { Model } from '../model.ts';
import { activityOf, keyNames, keysById } from '../select.ts';

/** Columns of the graph: twelve parts of the last minute. */
const GRAPH = 6;
const BAR = 10;
const NANOS_PER_CENT = NANOS_PER_USD / 100n;

interface BusiestProps {
  readonly model: Model;
  readonly width: number;
  /** Height in lines. */
  readonly room: number;
}

/** Shows as many keys as fit, and the number of further ones. */
export function Busiest({ model, width, room }: BusiestProps): ReactNode {
  const all = shownItems(model).flatMap((item) => (item.kind === 'key' ? [item.key] : []));
  if (room < 2) return null;
  const chosen = chosenItem(model);
  const cursor = chosen?.kind === 'key' ? all.indexOf(chosen.key) : -1;
  // With the cursor in the list, all keys keep their order.
  const shown = cursor >= 0 ? all : shownOf(all, room - 1);
  const more = all.length - shown.length;
  return h(
    Box,
    { flexDirection: 'column', width },
    h(Table<KeyActivityRow>, {
      columns: columnsOf(model),
      rows: shown,
      width,
      height: cursor >= 0 ? room : shown.length + 1,
      cursor,
      placeOf: placesOf(model, shown),
    }),
    all.length === 0 ? h(Styled, { line: [dim('none')] }) : null,
    more > 0 ? h(Styled, { line: [dim(`+${more} more`)] }) : null,
  );
}

/** Returns the first keys, and the key with most refusals, which needs attention. */
function shownOf(all: readonly KeyActivityRow[], room: number): readonly KeyActivityRow[] {
  if (all.length <= room) return all;
  const first = all.slice(0, Math.max(1, room - 1));
  const refused = all.reduce((most, row) => (row.refused > most.refused ? row : most));
  return refused.refused === 0 || first.includes(refused) ? first : [...first.slice(0, -1), refused];
}

function columnsOf(model: Model): Column<KeyActivityRow>[] {
  const nameOf = keyNames(model);
  const { busiest: all } = activityOf(model);
  const top = all.reduce((most, row) => (costOf(row) > most ? costOf(row) : most), 0n);
  const graph: Column<KeyActivityRow> = {
    head: '',
    width: GRAPH,
    rank: 2,
    cell: ({ history }) => [span(spark(history, GRAPH), { tone: 'accent' })],
  };
  const keys = keysById(model);
  /** Returns the key's limit; undefined for a key that was not in the last read of the state. */
  const limitOf = ({ id }: KeyActivityRow) => keys.get(id)?.limits.rpm;
  return [
    { head: 'BUSIEST KEYS', width: 12, grows: true, middle: true, cell: ({ id }) => nameOf(id) },
    // The database has no history of the last minute.
    ...(all.some(({ history }) => history.length > 0) ? [graph] : []),
    { head: 'USD/MIN', width: 8, align: 'right', cell: (row) => amount(costOf(row), top) },
    { head: '', width: BAR, grows: true, rank: 4, cell: (row, width) => barOf(row.requests, limitOf(row), width) },
    {
      head: 'REQ/LIMIT',
      width: 11,
      least: 9,
      align: 'right',
      rank: 1,
      cell: (row) => shareText(row.requests, limitOf(row)),
    },
    { head: 'REFUSED', width: 7, align: 'right', cell: ({ refused }) => [refusedSpan(refused)] },
    { head: 'IN FLIGHT', width: 9, align: 'right', rank: 3, cell: ({ open }) => [dim(short(open))] },
  ];
}

function barOf(requests: number, limit: number | undefined, width: number): Line {
  return limit === undefined ? EMPTY : bar(requests, limit, width);
}

function shareText(requests: number, limit: number | undefined): string {
  return limit === undefined ? short(requests) : `${short(requests)}/${short(limit)}`;
}

function costOf({ usd_per_min: cost }: KeyActivityRow): Nanos {
  return parseUsd(cost) ?? 0n;
}

/** Formats a cost in cents, or more exactly if every key spends less than one cent. */
function amount(cost: Nanos, top: Nanos): string {
  if (top > 0n && top < NANOS_PER_CENT) return usdInColumn(cost, 6);
  return cost > 0n && cost < NANOS_PER_CENT ? '<0.01' : usdInColumn(cost, 2);
}

function refusedSpan(refused: number) {
  return refused === 0 ? dim('-') : span(short(refused), { tone: 'warn', bold: true });
}
