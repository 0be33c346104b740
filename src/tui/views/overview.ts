/** The Overview: charts, the account, the busiest keys, the health of the providers, and all gateways of a database. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { ago, count, countOf, short } from '../../operator/format.ts';
import { healthOf, stateText } from '../../operator/health.ts';
import { clean, wrap } from '../../operator/text.ts';
import { filterLine, wayTo } from '../components/list-view.ts';
import { Lines, Styled } from '../components/styled.ts';
import { Table } from '../components/table.ts';
import type { ViewProps } from '../components/view-props.ts';
import { bold, dim, EMPTY, type Line, lineWidth, type Span, signed, span } from '../draw/line.ts';
import type { Column } from '../draw/table.ts';
import { openUpstream } from '../lists/overview.ts';
import { CHART_RANGES, type Model, type Shared } from '../model.ts';
import { presentOf } from '../present.ts';
import { inFlightOf } from '../select.ts';
import { account, LABEL, labelled } from './account.ts';
import { Busiest } from './busiest.ts';
import { Charts, chartsHeight, Ranges, type Room } from './charts.ts';
import { firstRun, isFirstRun } from './first-run.ts';
import { aliveText, Gateways, gatewaysHeight } from './gateways.ts';
import { limitLines, MOST_LIMITS } from './next-limits.ts';
import { Providers } from './providers.ts';
import { StoredOverview } from './stored.ts';

/** Time for which the charts of a stopped gateway remain. */
const LEFT_BEHIND_MS = 300_000;
/** Minimum columns for four charts in a row, unless they can be stacked. */
const FOUR_COLUMNS = 160;
/** Minimum lines for two rows of charts. */
const TWO_ROWS = 30;
/** Minimum lines for a time axis below charts, and a separate line for the forecast of the account. */
const AXIS_LINES = 14;
const ROOMY_LINES = 18;
const MOST_CHART_LINES = 14;
/** The providers' share of the columns; the keys get the larger part. */
const PROVIDERS_SHARE = 0.35;
const LEAST_PROVIDERS = 27;
const GAP = 2;
/** Lines for gateways, and the minimum that remains below them. */
const LEAST_NODES = 6;
const LEAST_BELOW = 3;
/** Lines reserved for the lists of keys and providers before limits are shown. */
const LEAST_LISTS = 6;
/** Maximum error codes shown. */
const MOST_CODES = 4;
/** Lines of figures of all gateways. */
const SHARED_FIGURES = 2;
const RANGES_WIDTH = CHART_RANGES.join('').length + 2 * CHART_RANGES.length;

export function OverviewView({ model, height }: ViewProps): ReactNode {
  const { snapshot, shared } = model;
  if (isFirstRun(model)) return h(Lines, { lines: firstRun(model) });
  if (snapshot === undefined && shared !== undefined) return h(FromDatabase, { model, shared, height });
  if (snapshot === undefined && !hasTraffic(model)) return h(StoredOverview, { model, height });
  return h(Serving, { model, height });
}

/** Charts and account, and the lists below. */
function Serving({ model, height }: ViewProps): ReactNode {
  const { columns, shared } = model;
  const size = shared === undefined ? height : height - LEAST_NODES;
  const isRoomy = size >= ROOMY_LINES;
  const wanted = limitLines(model, columns, MOST_LIMITS + 1).length;
  // The limits take their lines from the charts.
  const charts = chartRoom(wanted === 0 ? size : size - wanted, columns);
  const figures: Line[] = [
    ...(isRoomy ? [EMPTY] : []),
    errorLine(model),
    ...account(model, columns, isRoomy ? 3 : size >= AXIS_LINES ? 2 : 1),
    EMPTY,
  ];
  const spare = size - 1 - chartsHeight(charts) - figures.length - LEAST_LISTS;
  const limits = limitLines(model, columns, Math.min(MOST_LIMITS + 1, spare));
  const limitsHeight = limits.length === 0 ? 0 : limits.length + 1;
  const left = height - 1 - chartsHeight(charts) - figures.length - limitsHeight;
  const nodes = shared === undefined ? 0 : gatewaysHeight(shared, roomForNodes(left));
  return h(
    Box,
    { flexDirection: 'column', height },
    h(HeadLine, { model }),
    h(Charts, { model, room: charts }),
    h(Lines, { lines: limits.length === 0 ? figures : [...figures, ...limits, EMPTY] }),
    shared === undefined || nodes === 0
      ? null
      : h(Box, { paddingBottom: 1, flexShrink: 0 }, h(Gateways, { model, shared, width: columns, height: nodes })),
    h(BottomLists, { model, room: left - (nodes === 0 ? 0 : nodes + 1) }),
  );
}

/** The busiest keys, or the failures of the chosen provider, and all providers at the right. */
function BottomLists({ model, room }: { readonly model: Model; readonly room: number }): ReactNode {
  const { columns } = model;
  const rest = Math.max(LEAST_PROVIDERS, Math.floor(columns * PROVIDERS_SHARE));
  const width = columns - GAP - rest;
  const upstream = openUpstream(model);
  return h(
    Box,
    { columnGap: GAP, height: Math.max(0, room), overflow: 'hidden' },
    upstream === undefined ? h(Busiest, { model, width, room }) : h(Failures, { model, upstream, width }),
    h(Providers, { model, width: rest, room }),
  );
}

/** Divides the height between charts and lists about equally. */
function chartRoom(height: number, columns: number): Room {
  const hasTimeAxis = height >= AXIS_LINES;
  if (height >= TWO_ROWS) {
    return { across: 2, down: 2, height: Math.min(MOST_CHART_LINES, Math.floor((height - 14) / 4)), hasTimeAxis };
  }
  const lines = hasTimeAxis ? Math.max(3, Math.floor(height / 4) - 1) : 2;
  return { across: columns >= FOUR_COLUMNS ? 4 : 2, down: 1, height: lines, hasTimeAxis };
}

/** The time range of the charts, and the load of the gateway. */
function HeadLine({ model }: { readonly model: Model }): ReactNode {
  const { snapshot, shared } = model;
  const inFlight = inFlightOf(model);
  const here = shared === undefined || snapshot === undefined ? '' : `, ${count(snapshot.in_flight)} here`;
  const busy = inFlight === undefined ? '' : `${count(inFlight)} in flight${here}`;
  const delay = snapshot === undefined ? '' : `   loop delay p99 ${snapshot.loop_delay_ms.p99} ms`;
  const [way, filter] = [[...wayTo(model), dim('  over ')], filterLine(model)];
  const used = lineWidth([...way, ...filter]) + RANGES_WIDTH + busy.length;
  const right: Line = [{ text: busy }, dim(used + delay.length < model.columns ? delay : '')];
  return h(
    Box,
    { justifyContent: 'space-between', height: 1, flexShrink: 0, overflow: 'hidden' },
    h(Box, null, h(Styled, { line: way }), h(Ranges, { model }), h(Styled, { line: filter })),
    used < model.columns ? h(Styled, { line: right }) : null,
  );
}

function hasTraffic({ seconds, nowMs }: Model): boolean {
  return (seconds.at(-1)?.at_s ?? 0) * 1_000 >= nowMs - LEFT_BEHIND_MS;
}

/** The Overview without a gateway on this machine, from the database. */
function FromDatabase({ model, shared, height }: ViewProps & { readonly shared: Shared }): ReactNode {
  const { columns } = model;
  const lines = [...account(model, columns, height >= ROOMY_LINES ? 3 : 1), EMPTY];
  const left = height - SHARED_FIGURES - lines.length;
  const nodes = gatewaysHeight(shared, roomForNodes(left));
  return h(
    Box,
    { flexDirection: 'column', height },
    h(SharedFigures, { model, shared }),
    h(Lines, { lines }),
    h(Gateways, { model, shared, width: columns, height: nodes }),
    h(Box, { paddingTop: 1 }, h(Busiest, { model, width: columns, room: left - nodes - 1 })),
  );
}

/** Returns at least half of the remaining lines, but not all. */
function roomForNodes(left: number): number {
  return Math.min(left - LEAST_BELOW, Math.max(LEAST_NODES, Math.floor(left / 2)));
}

function SharedFigures({ model, shared }: { readonly model: Model; readonly shared: Shared }): ReactNode {
  const sum = (read: (node: Shared['nodes'][number]) => number) =>
    count(shared.nodes.reduce((total, node) => total + read(node), 0));
  const width = Math.floor((model.columns - GAP) / 2);
  const [left, right] = [
    [
      labelled('gateways', [{ text: aliveText(shared) }]),
      labelled('in flight', [{ text: count(inFlightOf(model) ?? 0) }]),
    ],
    [
      labelled('requests/min', [{ text: sum(({ requestsPerMin }) => requestsPerMin) }]),
      labelled('tokens/min', [{ text: sum(({ tokensPerMin }) => tokensPerMin) }]),
    ],
  ];
  return h(Box, { gap: GAP, flexShrink: 0 }, h(Lines, { lines: left, width }), h(Lines, { lines: right, width }));
}

function errorLine(model: Model): Line {
  const listed = presentOf(model).errors.slice(0, MOST_CODES);
  // Each code is shown in full or not at all.
  while (listed.length > 1 && lineWidth(errorSpans(listed)) > model.columns - LABEL) listed.pop();
  return labelled('errors, 1 min', listed.length === 0 ? [dim('none')] : errorSpans(listed));
}

function errorSpans(errors: readonly (readonly [code: string, number: number])[]): Span[] {
  return errors.flatMap(([code, number], index) => [
    { text: index === 0 ? '' : '  ' },
    span(count(number), { tone: code === 'rate_limited' ? 'warn' : 'bad' }),
    { text: ` ${code}` },
  ]);
}

type Cause = UpstreamHealth['causes'][number];

interface FailuresProps {
  readonly model: Model;
  readonly upstream: UpstreamHealth;
  readonly width: number;
}

function Failures({ model, upstream, width }: FailuresProps): ReactNode {
  const { causes, last_failure: last, requests, in_flight: inFlight } = upstream;
  const head: Line = [
    bold(clean(upstream.upstream)),
    { text: '  ' },
    signed(healthOf(upstream), stateText(upstream)),
    dim(`  ${countOf(requests, 'request')}/min, ${count(inFlight)} in flight`),
  ];
  if (causes.length === 0) return h(Lines, { lines: [head, [dim('Nothing has failed in the last hour.')]], width });
  const words = last === null ? [] : wrap(clean(`last: ${last.message}`), width).map((text) => [{ text }]);
  return h(
    Box,
    { flexDirection: 'column', width },
    h(Lines, { lines: [head, ...words] }),
    h(Table<Cause>, { columns: columnsOf(model.nowMs), rows: causes, width, height: causes.length + 1, cursor: -1 }),
    h(Styled, { line: [dim('Enter: the requests that failed here')] }),
  );
}

function columnsOf(nowMs: number): Column<Cause>[] {
  return [
    { head: 'CAUSE', width: 18, cell: ({ cause }) => cause.replaceAll('_', ' ') },
    { head: 'LAST HOUR', width: 9, align: 'right', cell: (each) => [span(short(each.count), { tone: 'bad' })] },
    { head: 'LAST', width: 8, align: 'right', rank: 1, cell: ({ at_ms: atMs }) => ago((nowMs - atMs) / 1_000) },
    { head: 'MESSAGE', width: 16, grows: true, rank: 2, cell: ({ message }) => message },
  ];
}
