/** The Live view: requests in flight, then those that recently ended or were refused. */
import { createElement as h, type ReactNode } from 'react';
import { type Nanos, parseUsd } from '../../core/money.ts';
import { program } from '../../core/program.ts';
import { ago, count, duration, exactUsd, milliseconds, short, usd, usdInColumn } from '../../operator/format.ts';
import { servedBy, servedModel, whyOf } from '../../operator/messages.ts';
import { clean } from '../../operator/text.ts';
import { type ListColumn, ListView, longest, wayTo, whyColumn } from '../components/list-view.ts';
import { Lines } from '../components/styled.ts';
import type { ViewProps } from '../components/view-props.ts';
import { bold, dim, type Line, type Span, span } from '../draw/line.ts';
import { shortModel } from '../draw/model-name.ts';
import { shownRequests } from '../lists/live.ts';
import type { LiveRow, Model, Shared } from '../model.ts';
import { hasPane, inFlightOf, keyNames } from '../select.ts';
import { requestHead } from './request-head.ts';
import { startHint } from './stored.ts';

export function LiveView({ model, height }: ViewProps): ReactNode {
  const inFlight = inFlightOf(model);
  if (inFlight === undefined) return h(Lines, { lines: [wayTo(model), [], ...unwatched(model)] });
  const rows = shownRequests(model);
  const { snapshot, shared, live: state, lists } = model;
  const where = shared === undefined ? '' : ' on all gateways';
  const past = snapshot === undefined ? '' : `, followed by recent requests${shared === undefined ? '' : ' here'}`;
  const current = state.isOpen || hasPane(model) ? rows[lists.live.cursor] : undefined;
  return h(ListView<LiveRow>, {
    model,
    height,
    about: [dim(`${count(inFlight)} in flight${where}${past}`)],
    rows,
    columns: columnsOf(model, rows),
    // The reasons in the table need the columns.
    detailShare: 0.34,
    detail: current && (() => [requestDetail(model, current)]),
    empty: [[dim(snapshot === undefined ? 'No requests.' : 'No requests yet.')]],
    aside: state.frozen === undefined ? [] : [span('paused, Home to resume', { tone: 'warn' })],
  });
}

function unwatched(model: Model): Line[] {
  if (model.isConnecting) return [];
  return [
    [dim('No gateway is running.')],
    startHint(model),
    [dim(`${program()} requests list shows those of the past.`)],
  ];
}

function columnsOf(model: Model, rows: readonly LiveRow[]): ListColumn<LiveRow>[] {
  const nameOf = keyNames(model);
  const { shared } = model;
  const why = whyColumn(rows, whyOf);
  // Names are shown in full unless the WHY column needs the width.
  const keyWidth = longest(why.length > 0 ? [] : rows, ({ key_id: id }) => nameOf(id), 10, 15);
  const modelWidth = longest(why.length > 0 ? [] : rows, ({ model: name }) => name, 12, 18);
  // With reasons, they take the remaining width.
  const grows = why.length > 0 ? {} : ({ grows: true } as const);
  const node: ListColumn<LiveRow>[] =
    shared === undefined
      ? []
      : [{ head: 'NODE', field: 'node', width: 10, grows: true, rank: 2, cell: (row) => nodeOf(row, shared) }];
  return [
    { head: 'AGE', field: 'age', width: 8, align: 'right', cell: (row) => ageOf(row, model.nowMs) },
    {
      head: 'KEY',
      field: 'key',
      width: keyWidth,
      ...grows,
      middle: true,
      cell: ({ key_id: id }) => nameOf(id),
    },
    {
      head: 'MODEL',
      field: 'model',
      width: 18,
      least: modelWidth,
      ...grows,
      middle: true,
      cell: ({ model: name }, room) => shortModel(name, room),
    },
    ...node,
    ...namesOf(rows),
    { head: 'UPSTREAM', field: 'upstream', width: 12, rank: 9, cell: ({ upstream = '' }) => upstream },
    { head: '', width: 6, rank: 8, cell: ({ stream }) => (stream ? [dim('stream')] : '') },
    { head: 'IN', field: 'in', width: 5, align: 'right', rank: 6, cell: (row) => tokensOf(row, row.prompt_tokens) },
    {
      head: 'OUT',
      field: 'out',
      width: 5,
      align: 'right',
      rank: 3,
      cell: (row) => tokensOf(row, row.completion_tokens),
    },
    { head: 'COST (USD)', field: 'cost', width: 10, align: 'right', rank: 4, cell: costCell },
    {
      head: 'FIRST BYTE',
      field: 'first',
      width: 10,
      align: 'right',
      rank: 7,
      cell: (row) => milliseconds(row.first_byte_ms),
    },
    {
      head: 'STATE',
      field: 'state',
      width: 19,
      least: longest(rows, (row) => stateSpan(row).text, 7, 19),
      cell: (row) => [stateSpan(row)],
    },
    // In a narrow window causes take precedence over figures.
    ...why,
  ];
}

/** Columns for users and apps, if any request names them. */
function namesOf(rows: readonly LiveRow[]): ListColumn<LiveRow>[] {
  const all = [
    { name: 'user', rank: 2 },
    { name: 'app', rank: 5 },
  ] as const;
  return all
    .filter(({ name }) => rows.some((row) => row[name] !== undefined))
    .map(({ name, rank }) => {
      const cell = (row: LiveRow) => row[name] ?? '';
      const width = longest(rows, cell, 8, 12);
      return { head: name.toUpperCase(), field: name, width, least: 8, middle: true, rank, cell };
    });
}

function nodeOf({ elsewhere }: LiveRow, { ownNode }: Shared): string {
  return elsewhere?.node ?? ownNode;
}

/** Whether a request was refused, and thus has no tokens or cost. */
function isRefused({ provider, ended_at_ms: endedAtMs }: LiveRow): boolean {
  return provider === '' && endedAtMs !== undefined;
}

function tokensOf(row: LiveRow, tokens: number): string {
  return row.elsewhere === undefined && !isRefused(row) ? short(tokens) : '-';
}

/** The cost; for a request on another gateway its hold, the upper bound of the cost. */
function costCell(row: LiveRow): string | Line {
  const { elsewhere } = row;
  if (isRefused(row)) return '-';
  return elsewhere === undefined ? usdInColumn(costOf(row), 6) : [dim(`≤${usdInColumn(elsewhere.holdNanos, 6)}`)];
}

function costOf({ cost_usd: cost }: LiveRow): Nanos {
  return parseUsd(cost) ?? 0n;
}

/** Returns a request's running time, or the time since its end. */
function ageOf(row: LiveRow, nowMs: number): string {
  if (row.ended_at_ms === undefined) return duration((nowMs - row.admitted_at_ms) / 1_000);
  return ago((nowMs - row.ended_at_ms) / 1_000);
}

function stateSpan({ outcome, ended_at_ms: endedAtMs }: LiveRow): Span {
  if (endedAtMs === undefined) return span('running', { tone: 'accent' });
  if (outcome === 'ok') return span('ok', { tone: 'good' });
  return span(outcome ?? '', { tone: outcome === 'cancelled' || outcome === 'rate_limited' ? 'warn' : 'bad' });
}

function upstreamText({ provider, upstream, attempts }: LiveRow): string {
  return `upstream ${clean(servedBy(upstream ?? provider, attempts))}`;
}

function requestDetail(model: Model, row: LiveRow): Line[] {
  const { elsewhere } = row;
  const tookMs = Math.max(0, (row.ended_at_ms ?? model.nowMs) - row.admitted_at_ms);
  const facts: Line[] = [
    [dim('key     '), { text: `${clean(keyNames(model)(row.key_id))} (${row.key_id})` }],
    [dim('model   '), { text: clean(servedModel(row.model, row.requested_model)) }],
  ];
  if (elsewhere !== undefined) {
    return [
      [bold(row.id), dim(`  on ${clean(elsewhere.node)}, which alone knows its tokens`)],
      ...facts,
      [dim('held    '), { text: `${usd(elsewhere.holdNanos)} USD` }],
      [dim('time    '), { text: milliseconds(tookMs) }],
    ];
  }
  const times = { firstByteMs: row.first_byte_ms, tookMs, isOver: row.ended_at_ms !== undefined };
  const whom = [row.user, row.app].filter((name) => name !== undefined);
  return [
    ...requestHead(row.id, stateSpan(row), isRefused(row) ? undefined : exactUsd(costOf(row)), times),
    ...(whyOf(row) === ''
      ? []
      : [[dim('why     '), span(clean(whyOf(row)), { tone: row.failure === undefined ? 'warn' : 'bad' })]]),
    ...facts,
    ...(isRefused(row)
      ? []
      : [
          [dim('served  '), { text: `${row.stream ? 'streamed' : 'not streamed'}, ${upstreamText(row)}` }],
          [dim('tokens  '), { text: usageText(row) }],
        ]),
    ...(whom.length === 0 ? [] : [[dim('for     '), { text: clean(whom.join(', with ')) }]]),
  ];
}

function usageText(row: LiveRow): string {
  const isEstimate = row.ended_at_ms === undefined && row.source === 'counted';
  const source = row.source === undefined ? '' : ` (${isEstimate ? 'estimated so far' : row.source})`;
  return `${count(row.prompt_tokens)} in, ${count(row.completion_tokens)} out${source}`;
}
