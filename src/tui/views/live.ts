/** The Live view: requests in flight, then those that recently ended or were refused. */
import { type Nanos, parseUsd } from '../../core/money.ts';
import type { RequestRow } from '../../observe/worker-snapshot.ts';
import { ago, count, duration, milliseconds, short, usd, usdInColumn } from '../../operator/format.ts';
import { servedBy, servedModel } from '../../operator/messages.ts';
import { clean } from '../../operator/text.ts';
import { bold, dim, type Line, type Span, span } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import type { Model } from '../model.ts';
import { keyNames, shownRequests } from '../select.ts';

export function live(model: Model, height: number): Line[] {
  if (model.snapshot === undefined) return [[bold('Live')], [], [dim('No gateway is running.')]];
  const rows = shownRequests(model);
  const inFlight = model.snapshot.in_flight;
  const head: Line = [
    bold('Live'),
    dim(`  ${count(inFlight)} in flight, followed by recent requests`),
    ...(model.live.frozen === undefined ? [] : [span('   paused, Home to resume', { tone: 'warn' })]),
  ];
  if (rows.length === 0 && inFlight === 0 && model.seconds.length === 0) {
    return [head, [], [dim('No requests yet.')]];
  }
  const current = rows[model.live.cursor];
  const detail = model.live.isOpen && current !== undefined ? requestDetail(model, current) : [];
  const tableHeight = Math.max(4, height - 1 - (detail.length > 0 ? detail.length + 1 : 0));
  const lines = table(columnsOf(model), rows, { width: model.columns, height: tableHeight, cursor: model.live.cursor });
  return [head, ...lines, ...(detail.length > 0 ? [[], ...detail] : [])].slice(0, height);
}

function columnsOf(model: Model): Column<RequestRow>[] {
  const nameOf = keyNames(model);
  return [
    { head: 'AGE', width: 8, align: 'right', cell: (row) => ageOf(row, model.nowMs) },
    { head: 'KEY', width: 10, grows: true, cell: ({ key_id: id }) => nameOf(id) },
    { head: 'MODEL', width: 18, grows: true, cell: ({ model: name }) => name },
    { head: 'UPSTREAM', width: 12, rank: 6, cell: ({ upstream = '' }) => upstream },
    { head: '', width: 6, rank: 5, cell: ({ stream }) => (stream ? [dim('stream')] : '') },
    { head: 'IN', width: 5, align: 'right', rank: 3, cell: (row) => short(row.prompt_tokens) },
    { head: 'OUT', width: 5, align: 'right', rank: 1, cell: (row) => short(row.completion_tokens) },
    { head: 'COST (USD)', width: 10, align: 'right', rank: 2, cell: (row) => usdInColumn(costOf(row), 6) },
    { head: 'FIRST BYTE', width: 10, align: 'right', rank: 4, cell: (row) => milliseconds(row.first_byte_ms) },
    { head: 'STATE', width: 19, cell: (row) => [stateSpan(row)] },
  ];
}

function costOf({ cost_usd: cost }: RequestRow): Nanos {
  return parseUsd(cost) ?? 0n;
}

/** How long a request has been running, or how long ago it ended. */
function ageOf(row: RequestRow, nowMs: number): string {
  if (row.ended_at_ms === undefined) return duration((nowMs - row.admitted_at_ms) / 1_000);
  return ago((nowMs - row.ended_at_ms) / 1_000);
}

function stateSpan({ outcome, ended_at_ms: endedAtMs }: RequestRow): Span {
  if (endedAtMs === undefined) return span('running', { tone: 'accent' });
  if (outcome === 'ok') return span('ok', { tone: 'good' });
  return span(outcome ?? '', { tone: outcome === 'cancelled' || outcome === 'rate_limited' ? 'warn' : 'bad' });
}

function upstreamText({ provider, upstream, attempts }: RequestRow): string {
  return `upstream ${clean(servedBy(upstream ?? provider, attempts))}`;
}

function requestDetail(model: Model, row: RequestRow): Line[] {
  const tookMs = (row.ended_at_ms ?? model.nowMs) - row.admitted_at_ms;
  const source =
    row.source === undefined
      ? ''
      : ` (${row.ended_at_ms === undefined && row.source === 'counted' ? 'estimated so far' : row.source})`;
  return [
    [
      bold(row.id),
      dim(row.provider === '' ? '  refused' : `  ${row.stream ? 'streamed' : 'not streamed'}, ${upstreamText(row)}`),
    ],
    [dim('key     '), { text: `${clean(keyNames(model)(row.key_id))} (${row.key_id})` }],
    [dim('model   '), { text: clean(servedModel(row.model, row.requested_model)) }],
    [
      dim('tokens  '),
      {
        text: `${count(row.prompt_tokens)} in, ${count(row.completion_tokens)} out${source}, ${usd(costOf(row))} USD`,
      },
    ],
    ...(row.failure === undefined ? [] : [[dim('failure '), span(clean(row.failure.message), { tone: 'bad' })]]),
    [
      dim('time    '),
      { text: `${milliseconds(Math.max(0, tookMs))}, first byte after ${milliseconds(row.first_byte_ms)}` },
    ],
  ];
}
