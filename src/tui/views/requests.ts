/** The Requests view: all requests in the journal. */

import { createElement as h, type ReactNode } from 'react';
import { isErrorOutcome } from '../../core/settlement.ts';
import type { Refusal } from '../../observe/refusals.ts';
import { count, exactUsd, milliseconds, short, usdInColumn } from '../../operator/format.ts';
import { durationOf, type LabelledText, requestFields } from '../../operator/request-fields.ts';
import { clean, fit, wrap } from '../../operator/text.ts';
import { type ListColumn, ListView, longest, whyColumn } from '../components/list-view.ts';
import type { ViewProps } from '../components/view-props.ts';
import { dim, EMPTY, type Line, type Span, span } from '../draw/line.ts';
import { shortModel } from '../draw/model-name.ts';
import { shownJournal } from '../lists/journal.ts';
import { localTime, momentOf, zoneLabel } from '../local-time.ts';
import type { FoundRequest, Model } from '../model.ts';
import { hasPane } from '../select.ts';
import { isLooking } from '../update/requests.ts';
import { receiptLines, waterfallLines } from './receipt.ts';
import { requestHead } from './request-head.ts';

/** Columns for the labels of a request's details. */
const LABEL = 11;

export function RequestsView({ model, height }: ViewProps): ReactNode {
  const { requests: state, lists } = model;
  const rows = shownJournal(model);
  const current = state.isOpen || hasPane(model) ? rows[lists.requests.cursor] : undefined;
  return h(ListView<FoundRequest>, {
    model,
    height,
    about: [dim(aboutOf(model))],
    rows,
    columns: columnsOf(model, rows),
    // The reasons in the table need the columns.
    detailShare: 0.34,
    detail: current && ((width: number, room: number) => [detailOf(model, current, width, room)]),
    aside: refusedSince(model),
    empty: [[dim(state.isReading ? 'Reading…' : 'No requests have ended yet.')]],
  });
}

/** Refusals come from this machine's gateway, since the journal does not contain them. */
function refusedSince({ requests: { refusedSinceMs }, nowMs }: Model): Line {
  return refusedSinceMs === undefined ? [] : [dim(`refusals since ${backTo(refusedSinceMs, nowMs)}`)];
}

/** The number of requests, as far as it is known, and the progress of a long search. */
function aboutOf({ requests, nowMs }: Model): string {
  const { rows, isReading, isStopped, looked, left, next } = requests;
  const found = rows.length === 0 ? '' : count(rows.length);
  if (isLooking(requests) || isStopped) {
    const all = left === undefined ? '' : ` of ${short(looked + left)}`;
    const far = `looked through ${short(looked)}${all}, back to ${backTo(next?.admittedAtMs ?? nowMs, nowMs)}`;
    return `${found === '' ? '' : `${found}, `}${far} · ${isStopped ? '↓ goes on' : 'Esc stops'}`;
  }
  if (isReading) return found === '' ? 'looking further back…' : `${found}, looking further back…`;
  return next === undefined ? found : `${found}+`;
}

/** Formats the time if it is today, otherwise the day. */
function backTo(wallMs: number, nowMs: number): string {
  return momentOf(wallMs, nowMs).split(' ')[0] ?? '';
}

/** Minimum columns for the reason of a failure; with fewer the cost takes precedence. */
const WHY_COLUMNS = 72;

function columnsOf({ shared, nowMs, columns }: Model, rows: readonly FoundRequest[]): ListColumn<FoundRequest>[] {
  const reasons = whyColumn(rows, ({ refused, end }) => refused?.cause ?? end?.failure?.message ?? '');
  const why = columns < WHY_COLUMNS ? [] : reasons;
  const stateWidth = longest(rows, (row) => stateOf(row).text, 15, 19);
  const keyWidth = longest(rows, ({ key }) => key, 10, 15);
  const modelWidth = longest(rows, ({ model }) => model, 12, 18);
  // Names are shown in full unless the WHY column needs the width; unused width goes to it.
  const sizes =
    why.length > 0
      ? { key: { width: keyWidth, least: 10 }, model: { width: modelWidth, least: 12 } }
      : { key: { width: 15, least: keyWidth }, model: { width: 18, least: modelWidth } };
  // With reasons, they take the remaining width.
  const grows = why.length > 0 ? {} : ({ grows: true } as const);
  return [
    {
      head: `ADMITTED${zoneLabel(nowMs)}`,
      field: 'age',
      isReversed: true,
      width: 14,
      cell: ({ admittedAtMs }) => momentOf(admittedAtMs, nowMs),
    },
    { head: 'KEY', field: 'key', ...sizes.key, ...grows, middle: true, cell: ({ key }) => key },
    {
      head: 'MODEL',
      field: 'model',
      ...sizes.model,
      ...grows,
      middle: true,
      rank: 3,
      cell: ({ model }, room) => shortModel(model, room),
    },
    ...(shared === undefined
      ? []
      : [{ head: 'NODE', field: 'node', width: 10, rank: 8, cell: ({ node = '-' }: FoundRequest) => node }]),
    ...(why.length === 0 || columns >= NAMES_COLUMNS ? nameColumns(rows) : []),
    { head: 'UPSTREAM', field: 'upstream', width: 12, middle: true, rank: 9, cell: ({ end }) => end?.upstream ?? '-' },
    { head: 'IN', field: 'in', width: 5, align: 'right', rank: 6, cell: ({ end }) => tokens(end?.promptTokens) },
    {
      head: 'OUT',
      field: 'out',
      width: 5,
      align: 'right',
      rank: 4,
      cell: ({ end }) => tokens(end?.completionTokens),
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
    { head: 'STATE', field: 'state', width: stateWidth, least: 14, cell: (row) => [stateOf(row)] },
    ...why,
  ];
}

/** Minimum columns for users and apps; with fewer, reasons take their width. */
const NAMES_COLUMNS = 200;

/** Columns for the end users and apps of requests. */
function nameColumns(rows: readonly FoundRequest[]): ListColumn<FoundRequest>[] {
  return (['user', 'app'] as const).flatMap((name, index) => {
    const cell = ({ refused, end }: FoundRequest) => refused?.[name] ?? end?.spentBy?.[name] ?? '';
    if (!rows.some((row) => cell(row) !== '')) return [];
    const width = longest(rows, cell, 6, 14);
    return [{ head: name.toUpperCase(), width, least: 6, middle: true as const, rank: 5 + 3 * index, cell }];
  });
}

function tokens(number: number | undefined): string {
  return number === undefined ? '-' : short(number);
}

function stateOf({ refused, end }: FoundRequest): Span {
  if (refused !== undefined) return span(refused.code, { tone: refused.code === 'rate_limited' ? 'warn' : 'bad' });
  if (end === undefined) return span('running', { tone: 'accent' });
  if (end.outcome === 'ok') return span('ok', { tone: 'good' });
  return span(end.outcome, { tone: isErrorOutcome(end.outcome) ? 'bad' : 'warn' });
}

/** Fields that the first lines already show. */
const SAID = ['request', 'outcome', 'first byte'];
/** Fields to drop first in a small window. */
const DISPENSABLE = ['reason', 'completion', 'held', 'admitted', 'upstream', 'ended', 'model'];

function refusedFields({ key }: FoundRequest, refused: Refusal): LabelledText[] {
  const { id, key_id: keyId, model, at_ms: atMs, code, reason, cause, user, app } = refused;
  return [
    ['request', id],
    ['refused', `${code}${reason === code ? '' : `, ${reason.replaceAll('_', ' ')}`}: ${cause}`],
    ['at', `${localTime(atMs)}${zoneLabel(atMs)}`],
    ['key', `${key} (${keyId})`],
    ...[['model', model] as const, ['user', user] as const, ['app', app] as const].filter(([, text]) => text !== ''),
    ['kept', 'by the gateway here, as long as it runs'],
  ];
}

/** The head; the cost and time of a request in flight are unknown. */
function headOf(request: FoundRequest): Line[] {
  const { id, end } = request;
  const tookMs = durationOf(request) ?? 0;
  const cost = end && exactUsd(end.costNanos);
  return requestHead(id, stateOf(request), cost, { firstByteMs: end?.firstByteMs, tookMs, isOver: true });
}

function detailOf({ shared }: Model, request: FoundRequest, width: number, height: number): Line[] {
  const figures = [receiptLines(request), waterfallLines(request, width)].filter((lines) => lines.length > 0);
  const extra = figures.flatMap((lines) => [EMPTY, ...lines]);
  // Fields precede the figures: in a small window they take precedence.
  const head = headOf(request);
  const room = height - head.length;
  const { refused } = request;
  const all = refused === undefined ? requestFields(request, shared !== undefined) : refusedFields(request, refused);
  const fields = all.filter(([label]) => !SAID.includes(label));
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
  return [...head, ...lines, ...(lines.length + extra.length <= room ? extra : [])];
}
