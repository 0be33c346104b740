/** The Requests view: what the journal holds of single requests, as far back as it goes. */

import { isErrorOutcome } from '../../core/settlement.ts';
import { count, dateTime, milliseconds, short, usdInColumn } from '../../operator/format.ts';
import { durationOf, type LabelledText, requestFields } from '../../operator/request-fields.ts';
import { clean, fit, wrap } from '../../operator/text.ts';
import type { JournalPlace, RequestRecord } from '../../state/requests.ts';
import { dim, type Line, type Span, span } from '../draw/line.ts';
import { shownJournal } from '../lists/journal.ts';
import type { Model } from '../model.ts';
import { isLooking } from '../update/requests.ts';
import { type ListColumn, listView } from './list-view.ts';

/** Columns for the labels of a request's details. */
const LABEL = 11;

export function requests(model: Model, height: number): Line[] {
  const { requests: state, lists, shared } = model;
  const rows = shownJournal(model);
  const current = state.isOpen ? rows[lists.requests.cursor] : undefined;
  return listView(model, height, {
    about: [dim(aboutOf(model))],
    rows,
    columns: columnsOf(model),
    detail: current && ((width, room) => detailOf(current, shared !== undefined, width, room)),
    empty: [[dim(state.isReading ? 'Reading…' : 'No requests have ended yet.')]],
  });
}

/** How many there are, as far as is known, and how far a search that takes its time has come. */
function aboutOf({ requests, nowMs }: Model): string {
  const { rows, isReading, isStopped, looked, next } = requests;
  const found = rows.length === 0 ? '' : count(rows.length);
  if (isLooking(requests) || isStopped) {
    const far = `looked through ${short(looked)}, back to ${backTo(next, nowMs)}`;
    return `${found === '' ? '' : `${found}, `}${far} · ${isStopped ? '↓ goes on' : 'Esc stops'}`;
  }
  if (isReading) return found === '' ? 'looking further back…' : `${found}, looking further back…`;
  return next === undefined ? found : `${found} and more`;
}

/** The time on this day, otherwise the day. */
function backTo(next: JournalPlace | undefined, nowMs: number): string {
  const text = dateTime(next?.admittedAtMs ?? nowMs);
  return text.slice(0, 10) === dateTime(nowMs).slice(0, 10) ? text.slice(11) : text.slice(5, 10);
}

function columnsOf({ shared }: Model): ListColumn<RequestRecord>[] {
  return [
    {
      head: 'ADMITTED (UTC)',
      field: 'age',
      isReversed: true,
      width: 19,
      cell: ({ admittedAtMs }) => dateTime(admittedAtMs),
    },
    { head: 'KEY', field: 'key', width: 12, least: 10, grows: true, middle: true, cell: ({ key }) => key },
    {
      head: 'MODEL',
      field: 'model',
      width: 18,
      least: 12,
      grows: true,
      middle: true,
      rank: 5,
      cell: ({ model }) => model,
    },
    ...(shared === undefined
      ? []
      : [{ head: 'NODE', field: 'node', width: 10, rank: 8, cell: ({ node = '-' }: RequestRecord) => node }]),
    { head: 'UPSTREAM', field: 'upstream', width: 12, middle: true, rank: 9, cell: ({ end }) => end?.upstream ?? '-' },
    { head: 'IN', field: 'in', width: 5, align: 'right', rank: 6, cell: ({ end }) => short(end?.promptTokens ?? 0) },
    {
      head: 'OUT',
      field: 'out',
      width: 5,
      align: 'right',
      rank: 4,
      cell: ({ end }) => short(end?.completionTokens ?? 0),
    },
    {
      head: 'COST (USD)',
      field: 'cost',
      width: 10,
      align: 'right',
      rank: 2,
      cell: ({ end }) => (end === undefined ? '-' : usdInColumn(end.costNanos, 6)),
    },
    {
      head: 'FIRST',
      field: 'first',
      width: 7,
      align: 'right',
      rank: 10,
      cell: ({ end }) => milliseconds(end?.firstByteMs),
    },
    { head: 'TOOK', field: 'took', width: 7, align: 'right', rank: 7, cell: (row) => milliseconds(durationOf(row)) },
    { head: 'STATE', field: 'state', width: 15, least: 14, cell: (row) => [stateOf(row)] },
    {
      head: 'WHY',
      field: 'err',
      width: 40,
      least: 18,
      grows: true,
      rank: 1,
      cell: ({ end }) => [span(end?.failure?.message ?? '', { tone: 'warn' })],
    },
  ];
}

function stateOf({ end }: RequestRecord): Span {
  if (end === undefined) return span('running', { tone: 'accent' });
  if (end.outcome === 'ok') return span('ok', { tone: 'good' });
  return span(end.outcome, { tone: isErrorOutcome(end.outcome) ? 'bad' : 'warn' });
}

/** What goes first where there is no room for everything. */
const DISPENSABLE = ['reason', 'completion', 'held', 'first byte', 'admitted', 'upstream', 'ended', 'model'];

function detailOf(request: RequestRecord, isShared: boolean, width: number, room: number): Line[] {
  const fields = requestFields(request, isShared);
  const linesOf = (left: readonly LabelledText[]) =>
    left.flatMap(([label, text]) =>
      wrap(clean(text), width - LABEL).map(
        (part, index): Line => [dim(fit(index === 0 ? label : '', LABEL)), { text: part }],
      ),
    );
  let lines = linesOf(fields);
  for (let gone = 1; lines.length > room && gone <= DISPENSABLE.length; gone++) {
    lines = linesOf(fields.filter(([label]) => !DISPENSABLE.slice(0, gone).includes(label)));
  }
  return lines;
}
