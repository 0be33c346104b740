/** The upstreams of the providers: failing ones first, with their failure messages. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { short } from '../../operator/format.ts';
import { healthOf, isTroubled, stateText } from '../../operator/health.ts';
import { clean, cut, cutMiddle, wrap } from '../../operator/text.ts';
import { Styled } from '../components/styled.ts';
import { Table } from '../components/table.ts';
import { dim, type Line, signed, span, toneOf } from '../draw/line.ts';
import type { Column } from '../draw/table.ts';
import { chosenItem, placesOf, shownItems } from '../lists/overview.ts';
import type { Model } from '../model.ts';

/** Maximum lines of messages per upstream. */
const MAX_WORDS = 4;
/** Indentation of messages. */
const INDENT = '  ';

/**
 * Shows failing upstreams first, with a line of messages each; then the others, and more messages. A last line counts
 * the rest.
 */
export function Providers({ model, width, room }: ProvidersProps): ReactNode {
  if (room < 2) return null;
  const all = shownItems(model).flatMap((item) => (item.kind === 'upstream' ? [item.upstream] : []));
  const item = chosenItem(model);
  const chosen = item?.kind === 'upstream' ? all.indexOf(item.upstream) : -1;
  const shares = sharesOf(all, width, room - 1);
  // Scrolls to the chosen upstream if necessary.
  const from = chosen < shares.length ? 0 : chosen;
  const listed = all.slice(from);
  const given = from === 0 ? shares : sharesOf(listed, width, room - 1);
  const shown = listed.slice(0, given.length);
  const hidden = listed.slice(shown.length);
  const none = model.snapshot !== undefined ? 'none' : 'unknown without a gateway';
  return h(
    Box,
    { flexDirection: 'column', width },
    h(Table<UpstreamHealth>, {
      columns: COLUMNS,
      rows: shown,
      width,
      height: shown.length + 1,
      cursor: chosen - from,
      placeOf: placesOf(model, shown),
      belowOf: (index) => wordsOf(shown[index] as UpstreamHealth, width, given[index]),
    }),
    all.length === 0 ? h(Styled, { line: [dim(none)] }) : null,
    hidden.length > 0 ? h(Styled, { line: [dim(moreText(hidden))] }) : null,
  );
}

interface ProvidersProps {
  readonly model: Model;
  readonly width: number;
  /** Height in lines. */
  readonly room: number;
}

function sharesOf(all: readonly UpstreamHealth[], width: number, room: number): number[] {
  return shareRoom(
    all.map((each) => ({ isTroubled: isTroubled(each), words: wordsOf(each, width).length })),
    room,
  );
}

interface Wish {
  readonly isTroubled: boolean;
  /** Number of message lines. */
  readonly words: number;
}

/** Divides the lines: first as many upstreams as fit, then their messages. */
function shareRoom(wishes: readonly Wish[], room: number): number[] {
  const troubled = wishes.filter(({ isTroubled }) => isTroubled).length;
  const speaking = wishes.filter(({ words }) => words > 0).length;
  // Reserves a line for the number of further upstreams.
  let left = wishes.length + speaking <= room ? room : room - 1;
  const rows = Math.min(wishes.length, Math.max(Math.min(troubled, left), left - speaking));
  left -= rows;
  const shown = wishes.slice(0, rows);
  const given = shown.map(() => 0);
  for (const most of [1, MAX_WORDS]) {
    for (const [index, { words }] of shown.entries()) {
      const more = Math.min(Math.min(words, most) - (given[index] ?? 0), left);
      given[index] = (given[index] ?? 0) + more;
      left -= more;
    }
  }
  return given;
}

function moreText(hidden: readonly UpstreamHealth[]): string {
  const troubled = hidden.filter(isTroubled).length;
  return `+${hidden.length} more${troubled === 0 ? ', in use' : `, ${troubled} of them failing`}`;
}

/** The last failure, and earlier ones. Long messages end in an ellipsis. */
function wordsOf(upstream: UpstreamHealth, width: number, most = MAX_WORDS): Line[] {
  const { last_failure: last, causes } = upstream;
  if (last === null || most < 1 || !isTroubled(upstream)) return [];
  const room = width - INDENT.length;
  const wrapped = wrap(clean(last.message), room);
  const words = [...wrapped.slice(0, most - 1), cut(wrapped.slice(most - 1).join(' '), room)].slice(0, wrapped.length);
  const counts = causes.map(({ cause, count }) => `${cause.replaceAll('_', ' ')} (${short(count)})`).join(', ');
  const hasCounts = causes.length > 0 && words.length < most;
  return [...words, ...(hasCounts ? [cut(`last hour: ${clean(counts)}`, room)] : [])].map((text) => [
    dim(`${INDENT}${text}`),
  ]);
}

const COLUMNS: readonly Column<UpstreamHealth>[] = [
  { head: 'PROVIDERS', width: 12, grows: true, cell: nameCell },
  { head: 'REQ/MIN', width: 7, align: 'right', rank: 1, cell: ({ requests }) => short(requests) },
  { head: 'STATE', width: 12, cell: (upstream) => [stateSpan(upstream)] },
  { head: 'IN FLIGHT', width: 9, align: 'right', rank: 2, cell: ({ in_flight: open }) => [dim(short(open))] },
];

function nameCell(upstream: UpstreamHealth, width: number): Line {
  return [signed(healthOf(upstream), ''), { text: cutMiddle(clean(upstream.upstream), width - 2) }];
}

function stateSpan(upstream: UpstreamHealth) {
  return span(stateText(upstream), isTroubled(upstream) ? { tone: toneOf(healthOf(upstream)) } : { dim: true });
}
