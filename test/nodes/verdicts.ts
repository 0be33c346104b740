/** Whether the requests of a round, what their clients saw, and the journal agree. Pure. */
import type { TestKey } from '../support/state.ts';
import type { Row } from './cluster.ts';
import type { Sent } from './load.ts';
import { costOf, holdOf, KEY_LIMITS, type KeyName, type Plan } from './plan.ts';
import { mostAtOnce, mostWithin } from './timeline.ts';

const WINDOW_MS = 60_000;

export interface Round {
  readonly sent: readonly Sent[];
  readonly rows: readonly Row[];
  /** How often the host received each request, by its marker. */
  readonly seen: ReadonlyMap<number, number>;
  readonly keys: Readonly<Record<KeyName, TestKey>>;
  /** Gateways that worked on after they were taken for dead: what they had at the host had no slot any more. */
  readonly undead: ReadonlySet<string>;
}

export interface Verdicts {
  readonly deviations: readonly string[];
  readonly lost: number;
  readonly countedTwice: number;
  /** Rows of requests that were charged as held. */
  readonly held: number;
}

/** The number of output tokens that the host reported is the marker; twice as many are held. */
function markerOf({ source, outputTokens }: Row): number {
  return source === 'held' ? outputTokens / 2 : outputTokens;
}

export function judge(round: Round): Verdicts {
  const { sent, rows, seen } = round;
  const deviations: string[] = [];
  const byMarker = Map.groupBy(rows, markerOf);
  const byId = Map.groupBy(rows, ({ requestId }) => requestId);
  const known = new Set<Row>();
  let lost = 0;
  let countedTwice = 0;
  for (const request of sent) {
    const { plan, end } = request;
    const mine = new Set([
      ...(byMarker.get(plan.marker) ?? []),
      ...(end.kind === 'answered' ? (byId.get(end.requestId) ?? []) : []),
    ]);
    for (const row of mine) known.add(row);
    if (mine.size > 1) countedTwice++;
    const fault = faultOf(request, [...mine], seen.get(plan.marker) ?? 0);
    if (fault === undefined) continue;
    if (mine.size === 0 || isComplete(request)) lost++;
    deviations.push(`request ${plan.marker} (${plan.key}) at ${request.node}: ${fault}; ${shown(request)}`);
  }
  for (const row of rows.filter((row) => !known.has(row))) {
    deviations.push(`row ${row.requestId} (${row.outcome}) belongs to no request that was sent`);
  }
  deviations.push(...faultsInLimits(round));
  return { deviations, lost, countedTwice, held: rows.filter(({ source }) => source === 'held').length };
}

function isComplete({ end }: Sent): boolean {
  return end.kind === 'answered' && end.status === 200 && !end.hasError;
}

/** What is wrong with a request and its rows, which had reached the host so often. */
function faultOf({ plan, end }: Sent, rows: readonly Row[], seen: number): string | undefined {
  const [row] = rows;
  if (rows.length > 1) return `it has ${rows.length} rows`;
  if (seen > 1) return `the host received it ${seen} times`;
  if (end.kind === 'broken') {
    if (!end.wasKilled) return `its connection broke: ${end.problem}`;
    if (row === undefined) return seen > 0 ? 'the host received it, and it has no row' : undefined;
    return isCharged(row, plan) || isHeld(row, plan) ? undefined : `its row says ${shownRow(row)}`;
  }
  switch (end.status) {
    case 200:
      if (row === undefined) return 'it has no row';
      return isCharged(row, plan) ? undefined : `its row says ${shownRow(row)}`;
    case 500:
      if (row === undefined) return seen > 0 ? 'the host received it, and it has no row' : undefined;
      if (seen === 0)
        return row.costNanos === 0n ? undefined : `nothing was forwarded, and its row says ${shownRow(row)}`;
      return isCharged(row, plan) || isHeld(row, plan) ? undefined : `its row says ${shownRow(row)}`;
    case 402:
    case 429:
      if (seen > 0) return 'it was refused, and the host received it';
      return row === undefined ? undefined : `it was refused, and its row says ${shownRow(row)}`;
    default:
      return `its status is ${end.status}`;
  }
}

function isCharged(row: Row, plan: Plan): boolean {
  return row.source === 'reported' && row.costNanos === costOf(plan);
}

function isHeld(row: Row, plan: Plan): boolean {
  return row.source === 'held' && row.costNanos === holdOf(plan);
}

function shown({ end }: Sent): string {
  if (end.kind === 'broken') return 'its connection broke';
  return `its answer was ${end.status}${end.hasError ? ' with an error' : ''} (${end.requestId})`;
}

function shownRow({ outcome, source, outputTokens, costNanos }: Row): string {
  return `${outcome}, ${source}, ${outputTokens} tokens, ${costNanos} nanodollars`;
}

/** What the journal alone tells: no limit was passed at any time, over all gateways. */
function faultsInLimits({ rows, keys, sent, undead }: Round): string[] {
  const of = (name: KeyName) => rows.filter(({ keyId }) => keyId === keys[name].id);
  const faults: string[] = [];
  const windowed = mostWithin(of('windowed'), WINDOW_MS);
  if (windowed > KEY_LIMITS.windowed.rpm) faults.push(`${windowed} requests within a minute`);
  const ids = new Map(sent.map(({ end, node }) => [end.kind === 'answered' ? end.requestId : '', node]));
  const alive = of('narrow').filter(({ requestId }) => !undead.has(ids.get(requestId) ?? ''));
  const atOnce = mostAtOnce(alive);
  if (atOnce > KEY_LIMITS.narrow.concurrency) faults.push(`${atOnce} requests at once`);
  const poor = of('poor').map(({ costNanos }) => costNanos);
  const spent = poor.reduce((sum, cost) => sum + cost, 0n);
  const dearest = poor.reduce((most, cost) => (cost > most ? cost : most), 0n);
  const { spendLimitNanos } = KEY_LIMITS.poor;
  if (spent >= spendLimitNanos + dearest) faults.push(`${spent} nanodollars of ${spendLimitNanos} are spent`);
  return faults;
}
