/** The Overview: charts, the account, the busiest keys, the health of the providers, and all gateways of a database. */
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { ago, count, countOf, short } from '../../operator/format.ts';
import { healthOf, stateText } from '../../operator/health.ts';
import { clean, wrap } from '../../operator/text.ts';
import { beside, bold, dim, EMPTY, type Line, lineWidth, type Span, signed, span, spread } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import { openUpstream } from '../lists/overview.ts';
import type { Model, Shared } from '../model.ts';
import { presentOf } from '../present.ts';
import { inFlightOf } from '../select.ts';
import { account, LABEL, labelled } from './account.ts';
import { busiest } from './busiest.ts';
import { charts, type Room, ranges } from './charts.ts';
import { firstRun, isFirstRun } from './first-run.ts';
import { aliveText, gateways } from './gateways.ts';
import { filterLine, wayTo } from './list-view.ts';
import { providers } from './providers.ts';
import { storedOverview } from './stored.ts';

/** How long a gateway that has stopped leaves its charts behind. */
const LEFT_BEHIND_MS = 300_000;
/** From this many columns on four charts stand side by side, unless there is room to stack them. */
const FOUR_COLUMNS = 160;
/** From this many lines on there are two rows of charts. */
const TWO_ROWS = 30;
/** From this many lines on charts have a time axis, and the account a line of its own for the forecast. */
const AXIS_LINES = 14;
const ROOMY_LINES = 18;
const MOST_CHART_LINES = 14;
/** The providers' part of the columns: the rows of keys say more. */
const PROVIDERS_SHARE = 0.35;
const LEAST_PROVIDERS = 27;
const GAP = 2;
/** Lines for gateways, if there are as many, and what must be left below them. */
const LEAST_NODES = 6;
const LEAST_BELOW = 3;
/** As many error codes as are read at a glance. */
const MOST_CODES = 4;

export function overview(model: Model, height: number): Line[] {
  const { columns, snapshot, shared } = model;
  if (isFirstRun(model)) return firstRun(model);
  if (snapshot === undefined && shared !== undefined) return fromDatabase(model, shared, height);
  if (snapshot === undefined && !hasTraffic(model)) return storedOverview(model, height);
  const size = shared === undefined ? height : height - LEAST_NODES;
  const isRoomy = size >= ROOMY_LINES;
  const lines: Line[] = [
    headLine(model),
    ...charts(model, chartRoom(size, columns)),
    ...(isRoomy ? [EMPTY] : []),
    errorLine(model),
    ...account(model, columns, isRoomy ? 3 : size >= AXIS_LINES ? 2 : 1),
    EMPTY,
  ];
  if (shared !== undefined) {
    const nodes = gateways(model, shared, columns, roomForNodes(height - lines.length));
    if (nodes.length > 0) lines.push(...nodes, EMPTY);
  }
  const room = height - lines.length;
  const rest = Math.max(LEAST_PROVIDERS, Math.floor(columns * PROVIDERS_SHARE));
  const left = columns - GAP - rest;
  const open = openUpstream(model);
  return [
    ...lines,
    ...beside([
      { lines: open === undefined ? busiest(model, left, room) : failures(model, open, left, room), width: left },
      { lines: providers(model, rest, room), width: rest },
    ]),
  ];
}

/** As much room as leaves the lists about as many lines as the charts have. */
function chartRoom(height: number, columns: number): Room {
  const hasTimeAxis = height >= AXIS_LINES;
  if (height >= TWO_ROWS) {
    return { across: 2, down: 2, height: Math.min(MOST_CHART_LINES, Math.floor((height - 14) / 4)), hasTimeAxis };
  }
  const lines = hasTimeAxis ? Math.max(3, Math.floor(height / 4) - 1) : 2;
  return { across: columns >= FOUR_COLUMNS ? 4 : 2, down: 1, height: lines, hasTimeAxis };
}

/** The time range of the charts, and how busy the gateway is. */
function headLine(model: Model): Line {
  const { snapshot, shared } = model;
  const inFlight = inFlightOf(model);
  const here = shared === undefined || snapshot === undefined ? '' : `, ${count(snapshot.in_flight)} here`;
  const busy = inFlight === undefined ? '' : `${count(inFlight)} in flight${here}`;
  const delay = snapshot === undefined ? '' : `   loop delay p99 ${snapshot.loop_delay_ms.p99} ms`;
  const left: Line = [...wayTo(model), dim('  over '), ...ranges(model), ...filterLine(model)];
  const hasRoom = lineWidth(left) + busy.length + delay.length < model.columns;
  return spread(left, [{ text: busy }, dim(hasRoom ? delay : '')], model.columns);
}

function hasTraffic({ seconds, nowMs }: Model): boolean {
  return (seconds.at(-1)?.at_s ?? 0) * 1_000 >= nowMs - LEFT_BEHIND_MS;
}

/** What a database knows about its gateways where none is here. */
function fromDatabase(model: Model, shared: Shared, height: number): Line[] {
  const { columns } = model;
  const lines = [...sharedFigures(model, shared), ...account(model, columns, height >= ROOMY_LINES ? 3 : 1), EMPTY];
  const nodes = gateways(model, shared, columns, roomForNodes(height - lines.length));
  const room = height - lines.length - nodes.length - 1;
  return [...lines, ...nodes, EMPTY, ...busiest(model, columns, room)];
}

/** Half of what is left, or more of it, but never all. */
function roomForNodes(left: number): number {
  return Math.min(left - LEAST_BELOW, Math.max(LEAST_NODES, Math.floor(left / 2)));
}

function sharedFigures(model: Model, shared: Shared): Line[] {
  const sum = (read: (node: Shared['nodes'][number]) => number) =>
    count(shared.nodes.reduce((total, node) => total + read(node), 0));
  const half = Math.floor((model.columns - GAP) / 2);
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
  return beside([
    { lines: left, width: half },
    { lines: right, width: half },
  ]);
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

function failures({ nowMs }: Model, upstream: UpstreamHealth, width: number, room: number): Line[] {
  const { causes, last_failure: last, requests, in_flight: inFlight } = upstream;
  const head: Line = [
    bold(clean(upstream.upstream)),
    { text: '  ' },
    signed(healthOf(upstream), stateText(upstream)),
    dim(`  ${countOf(requests, 'request')}/min, ${count(inFlight)} in flight`),
  ];
  if (causes.length === 0) return [head, [dim('Nothing has failed in the last hour.')]].slice(0, room);
  const words = last === null ? [] : wrap(clean(`last: ${last.message}`), width).map((text) => [{ text }]);
  const rows = table(columnsOf(nowMs), causes, { width, height: causes.length + 1, cursor: -1 });
  return [head, ...words, ...rows, [dim('Enter: the requests that failed here')]].slice(0, room);
}

function columnsOf(nowMs: number): Column<Cause>[] {
  return [
    { head: 'CAUSE', width: 18, cell: ({ cause }) => cause.replaceAll('_', ' ') },
    { head: 'LAST HOUR', width: 9, align: 'right', cell: (each) => [span(short(each.count), { tone: 'bad' })] },
    { head: 'LAST', width: 8, align: 'right', rank: 1, cell: ({ at_ms: atMs }) => ago((nowMs - atMs) / 1_000) },
    { head: 'MESSAGE', width: 16, grows: true, rank: 2, cell: ({ message }) => message },
  ];
}
