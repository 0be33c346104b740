/** The Overview: rates, cost, errors, the busiest keys, the health of the providers, and all gateways of a database. */
import type { Snapshot, TrafficRow } from '../../control/protocol.ts';
import { ratesOf } from '../../control/rates.ts';
import { type Nanos, parseUsd } from '../../core/money.ts';
import { addHistogram, emptyHistogram, quantile } from '../../observe/histogram.ts';
import { freeOf } from '../../operator/forecast.ts';
import { count, duration, milliseconds, short, usd } from '../../operator/format.ts';
import { UPSTREAM_STATES } from '../../operator/messages.ts';
import { clean, fit } from '../../operator/text.ts';
import { bar, chart } from '../draw/chart.ts';
import { beside, bold, dim, fitLine, type Line, lineWidth, type Span, span, spread } from '../draw/line.ts';
import type { Model, Shared } from '../model.ts';
import { accountOf, activityOf, inFlightOf, isUnused, keyNames, keysById } from '../select.ts';
import { account, LABEL, labelled } from './account.ts';
import { aliveText, gateways } from './gateways.ts';
import { storedOverview } from './stored.ts';

/** Rates are averages over this many seconds. */
const RATE_S = 10;
const SHOWN_MINUTES = 5;
/** How long the balance lasts goes by the spending of this many seconds. */
const BURN_S = 120;
const WIDE_COLUMNS = 100;
/** From this many rows on there is room for more charts. */
const TALL_ROWS = 36;
/** From this many columns on there is room for two lists side by side. */
const BESIDE_COLUMNS = 80;
/** Lines for gateways, if there are as many, and what must be left below them. */
const LEAST_NODES = 6;
const LEAST_BELOW = 3;

export function overview(model: Model, height: number): Line[] {
  const { columns, snapshot, shared } = model;
  if (snapshot === undefined && shared !== undefined) return fromDatabase(model, shared, height);
  if (snapshot === undefined && lastMinutes(model).length === 0) return storedOverview(model, height);
  const half = Math.floor((columns - 2) / 2);
  const lines = [
    ...charts(model, half, height),
    ...beside([
      { lines: figures(model), width: half },
      { lines: money(model), width: half },
    ]),
    errorLine(model),
    [],
  ];
  if (shared !== undefined) {
    const nodes = gateways(model, shared, columns, roomForNodes(height - lines.length));
    if (nodes.length > 0) lines.push(...nodes, []);
  }
  const room = height - lines.length;
  if (columns < BESIDE_COLUMNS) {
    const each = Math.floor(room / 2);
    return [...lines, ...busiest(model, columns, each).slice(0, each), ...providers(snapshot, columns)];
  }
  const lists = [busiest(model, half, room), providers(snapshot, half)];
  return [...lines, ...beside(lists.map((each) => ({ lines: each, width: half })))];
}

/** What a database knows about its gateways where none is here. */
function fromDatabase(model: Model, shared: Shared, height: number): Line[] {
  const { columns } = model;
  const half = Math.floor((columns - 2) / 2);
  const lines = [
    ...beside([
      { lines: sharedFigures(model, shared), width: half },
      { lines: account(model), width: half },
    ]),
    [],
  ];
  const nodes = gateways(model, shared, columns, roomForNodes(height - lines.length));
  const room = height - lines.length - nodes.length - 1;
  return [...lines, ...nodes, [], ...busiest(model, columns, room)];
}

/** Half of what is left, or more of it, but never all. */
function roomForNodes(left: number): number {
  return Math.min(left - LEAST_BELOW, Math.max(LEAST_NODES, Math.floor(left / 2)));
}

function sharedFigures(model: Model, shared: Shared): Line[] {
  const sum = (read: (node: Shared['nodes'][number]) => number) =>
    count(shared.nodes.reduce((total, node) => total + read(node), 0));
  return [
    labelled('gateways', [{ text: aliveText(shared) }]),
    labelled('in flight', [{ text: count(inFlightOf(model) ?? 0) }]),
    labelled('requests/min', [{ text: sum(({ requestsPerMin }) => requestsPerMin) }]),
    labelled('tokens/min', [{ text: sum(({ tokensPerMin }) => tokensPerMin) }]),
  ];
}

/** Two charts, or four if there is room. */
function charts(model: Model, width: number, height: number): Line[] {
  const isTall = height >= TALL_ROWS;
  const small = height >= 15 && model.shared === undefined ? 3 : 1;
  const chartHeight = isTall ? Math.min(10, Math.floor((height - 22) / 2)) : height >= 24 ? 5 : small;
  const sideBySide = (...each: readonly Line[][]) => [...beside(each.map((lines) => ({ lines, width }))), []];
  const block = (name: string, read: Chart['read'], more: Partial<Chart> = {}) =>
    chartBlock(
      model,
      { name: model.shared === undefined ? name : `${name} here`, read, show: short, isRate: true, ...more },
      width,
      chartHeight,
    );
  const first = sideBySide(
    block('requests/s', ({ requests }) => requests),
    block('tokens/s', ({ tokens }) => tokens),
  );
  if (!isTall) return first;
  const second = sideBySide(
    block('first byte p99, ms', ({ first_byte: firstByte }) => quantile([...firstByte], 0.99) ?? 0, { isRate: false }),
    block('spending, USD/s', ({ cost_usd: cost }) => Number(cost), { show: (value) => value.toFixed(4) }),
  );
  return [...first, ...second];
}

/** The last `spanS` seconds, including those in which nothing happened. */
function timeline(model: Model, read: (second: TrafficRow) => number, spanS: number): number[] {
  const nowS = Math.floor(model.nowMs / 1000);
  const values = new Map(model.seconds.map((second) => [second.at_s, read(second)]));
  // Without the current second, which would always look like a dip.
  return Array.from({ length: spanS }, (_, i) => values.get(nowS - spanS + i) ?? 0);
}

interface Chart {
  readonly name: string;
  read(second: TrafficRow): number;
  show(value: number): string;
  /** Whether a second in which nothing happened counts as 0 in the average. */
  readonly isRate: boolean;
}

function chartBlock(model: Model, { name, read, show, isRate }: Chart, width: number, height: number): Line[] {
  const values = timeline(model, read, width);
  const rates = values.slice(-RATE_S);
  const counted = isRate ? rates : rates.filter((value) => value > 0);
  const mean = counted.reduce((sum, value) => sum + value, 0) / Math.max(1, counted.length);
  const top = Math.max(...values);
  const head: Line = [bold(name), { text: `  ${show(mean)}` }, dim(`   max ${show(top)}`)];
  return [head, ...chart(values, width, height, { tone: 'accent' })];
}

function lastMinute(model: Model): TrafficRow[] {
  return lastMinutes(model, 1);
}

/** What is known of the last few minutes: a gateway that has stopped leaves its charts behind for so long. */
function lastMinutes({ nowMs, seconds }: Model, minutes = SHOWN_MINUTES): TrafficRow[] {
  return seconds.filter(({ at_s: atS }) => atS >= nowMs / 1000 - 60 * minutes);
}

/** On a line of its own: three codes are wider than half the screen. */
function errorLine(model: Model): Line {
  const errors = new Map<string, number>();
  for (const second of lastMinute(model)) {
    for (const [code, number] of Object.entries(second.errors)) errors.set(code, (errors.get(code) ?? 0) + number);
  }
  const listed = [...errors].toSorted(([, a], [, b]) => b - a).slice(0, 4);
  // Each code is shown in full or not at all.
  while (listed.length > 1 && lineWidth(errorSpans(listed)) > model.columns - LABEL) listed.pop();
  return labelled('errors, 1 min', listed.length === 0 ? [dim('none')] : errorSpans(listed));
}

function figures(model: Model): Line[] {
  const { snapshot } = model;
  const firstByte = emptyHistogram();
  for (const second of lastMinute(model)) addHistogram(firstByte, [...second.first_byte]);
  return [
    labelled('in flight', [{ text: inFlightText(model) }]),
    labelled('first byte', [
      { text: `p50 ${milliseconds(quantile(firstByte, 0.5))}  p99 ${milliseconds(quantile(firstByte, 0.99))}` },
    ]),
    labelled('loop delay', [{ text: snapshot === undefined ? '-' : `p99 ${snapshot.loop_delay_ms.p99} ms` }]),
  ];
}

function inFlightText(model: Model): string {
  const inFlight = inFlightOf(model);
  if (inFlight === undefined) return '-';
  const { snapshot, shared } = model;
  return shared === undefined ? count(inFlight) : `${count(inFlight)}, ${count(snapshot?.in_flight ?? 0)} of them here`;
}

function errorSpans(errors: readonly (readonly [code: string, number: number])[]): Span[] {
  return errors.flatMap(([code, number], index) => [
    { text: index === 0 ? '' : '  ' },
    span(count(number), { tone: code === 'rate_limited' ? 'warn' : 'bad' }),
    { text: ` ${code}` },
  ]);
}

function money(model: Model): Line[] {
  const { seconds, nowMs, shared } = model;
  const perMinute = parseUsd(ratesOf(seconds, nowMs, BURN_S).usdPerMin) ?? 0n;
  const here: Line = [{ text: `${usd(perMinute)} USD/min` }, dim(shared === undefined ? '' : '  here')];
  const left = timeLeft(freeOf(accountOf(model)), perMinute);
  return [
    ...account(model),
    labelled('spending', here),
    // Of a shared balance others spend, too.
    ...(shared === undefined ? [labelled('time left', [{ text: left }])] : []),
  ];
}

function timeLeft(free: Nanos, perMinute: Nanos): string {
  if (free <= 0n) return 'none';
  if (perMinute === 0n) return 'no spending';
  return `${duration(Number((free * 60n) / perMinute))} at this rate`;
}

function busiest(model: Model, width: number, room: number): Line[] {
  const { columns } = model;
  const nameOf = keyNames(model);
  const keys = keysById(model);
  const barWidth = columns >= WIDE_COLUMNS ? 16 : 8;
  const rows = activityOf(model).busiest.slice(0, Math.max(0, room - 1));
  const lines = rows.map(({ id, requests, open }): Line => {
    const limit = keys.get(id)?.limits.rpm ?? requests;
    return fitLine(
      [
        { text: fit(nameOf(id), Math.max(8, width - barWidth - 20)) },
        { text: ' ' },
        ...bar(requests, limit, barWidth),
        { text: ` ${fit(`${short(requests)}/${short(limit)}`, 11, 'right')}` },
        dim(` ${fit(short(open), 4, 'right')}`),
      ],
      width,
    );
  });
  const head = spread([bold('Busiest keys')], [dim('per minute, in flight')], width);
  return [head, ...(lines.length > 0 ? lines : [[dim('none')]])];
}

function providers(snapshot: Snapshot | undefined, width: number): Line[] {
  const lines = (snapshot?.upstreams ?? []).flatMap((upstream): Line[] => {
    const { upstream: name, state, requests, failures, in_flight: inFlight, last_failure: last } = upstream;
    const isClosed = state === 'closed';
    const isBad = isUnused(state) || (isClosed && failures > 0 && failures === requests);
    const tone = isBad ? 'bad' : isClosed && failures === 0 ? 'good' : 'warn';
    const stateText = isClosed && failures > 0 ? `${short(failures)} failed` : UPSTREAM_STATES[state];
    const figures = fitLine(
      [
        span('● ', { tone }),
        { text: fit(name, Math.max(8, width - 32)) },
        { text: ` ${fit(short(requests), 6, 'right')}/min` },
        span(` ${fit(stateText, 12, 'right')}`, tone === 'good' ? { dim: true } : { tone }),
        dim(` ${fit(short(inFlight), 4, 'right')}`),
      ],
      width,
    );
    return failures === 0 || last === null ? [figures] : [figures, [dim(`  ${clean(last.message)}`)]];
  });
  const head = spread([bold('Providers')], [dim('per minute, state, in flight')], width);
  return [head, ...(lines.length > 0 ? lines : [[dim('none used yet')]])];
}
