/** How a running gateway stands, as the control socket tells it. */

import type { KeyActivityRow, Look, SecondRow, Snapshot } from '../control/protocol.ts';
import { formatAddress } from '../core/address.ts';
import { fileSize } from '../core/files.ts';
import { formatUsd } from '../core/money.ts';
import { VERSION } from '../core/program.ts';
import type { KeyActivity } from '../ledger/ledger.ts';
import type { RequestRow, UpstreamHealth, UpstreamState } from '../observe/monitor.ts';
import { merged, type Second } from '../observe/traffic.ts';
import type { Gateway } from './gateway.ts';
import type { WorkerSnapshot } from './worker.ts';

/** What a gateway does not know of itself. */
export interface Circumstances {
  readonly startedAtMs: number;
  readonly draining: boolean;
}

export async function snapshotOf(
  gateway: Gateway,
  { startedAtMs, draining }: Circumstances,
  look: Look,
): Promise<Snapshot> {
  const { workers, ledger, storageFault } = await gateway.look(look, look.keyIds);
  const { config, address } = gateway;
  return {
    version: VERSION,
    pid: process.pid,
    started_at_ms: startedAtMs,
    now_ms: Date.now(),
    address: formatAddress({ host: address.address, port: address.port }),
    threads: config.threads,
    config_path: config.path ?? null,
    state_path: config.statePath,
    state_bytes: fileSize(config.statePath),
    log_bytes: fileSize(`${config.statePath}-wal`),
    memory_bytes: process.memoryUsage.rss(),
    draining,
    storage_fault: storageFault ?? null,
    credit_enforced: config.creditEnforced,
    balance_usd: ledger === undefined ? null : formatUsd(ledger.balanceNanos),
    held_usd: ledger === undefined ? null : formatUsd(ledger.heldNanos),
    in_flight: workers.reduce((sum, { inFlight }) => sum + inFlight, 0),
    loop_delay_ms: slowestLoop(workers),
    upstreams: upstreamsOf(workers),
    seconds: merged(workers.map(({ seconds }) => seconds)).map(secondRow),
    busiest: (ledger?.busiest ?? []).map(activityRow),
    keys: (ledger?.keys ?? []).map(activityRow),
    live: inOrder(workers.flatMap(({ live }) => live)).slice(0, look.mostLive),
    recent: latest(inOrder(workers.flatMap(({ recent }) => recent)), look.mostEnded),
  };
}

function slowestLoop(workers: readonly WorkerSnapshot[]): Snapshot['loop_delay_ms'] {
  const most = (read: (view: WorkerSnapshot) => number) => Math.max(...workers.map(read));
  return {
    p50: most(({ loopDelay }) => loopDelay.p50),
    p99: most(({ loopDelay }) => loopDelay.p99),
    max: most(({ loopDelay }) => loopDelay.max),
  };
}

/** What all workers know of each upstream, together, in the order of the config. */
function upstreamsOf(workers: readonly WorkerSnapshot[]): UpstreamHealth[] {
  const sums = new Map<string, UpstreamHealth>();
  for (const each of workers.flatMap(({ upstreams }) => upstreams)) {
    const sum = sums.get(each.upstream);
    sums.set(each.upstream, sum === undefined ? each : together(sum, each));
  }
  return [...sums.values()];
}

/** The worst first. */
const STATES: readonly UpstreamState[] = ['backing_off', 'open', 'half_open', 'closed'];

function together(a: UpstreamHealth, b: UpstreamHealth): UpstreamHealth {
  const failures = [a.last_failure, b.last_failure].filter((failure) => failure !== null);
  return {
    provider: a.provider,
    upstream: a.upstream,
    // Each worker finds out by itself; the operator is shown the worst.
    state: STATES.find((state) => a.state === state || b.state === state) ?? a.state,
    in_flight: a.in_flight + b.in_flight,
    requests: a.requests + b.requests,
    failures: a.failures + b.failures,
    last_failure: failures.toSorted((one, other) => other.at_ms - one.at_ms)[0] ?? null,
  };
}

function secondRow({ atS, requests, tokens, costNanos, errors, firstByteMs }: Second): SecondRow {
  return {
    at_s: atS,
    requests,
    tokens,
    cost_usd: formatUsd(costNanos),
    errors: Object.fromEntries(errors),
    first_byte: firstByteMs,
  };
}

function activityRow({ keyId, requests, tokens, open }: KeyActivity): KeyActivityRow {
  return { id: keyId, requests, tokens, open };
}

function latest(rows: readonly RequestRow[], most: number): readonly RequestRow[] {
  return rows.slice(Math.max(0, rows.length - most));
}

/** The earliest first. */
function inOrder(rows: readonly RequestRow[]): RequestRow[] {
  return rows.toSorted((a, b) => (a.ended_at_ms ?? a.admitted_at_ms) - (b.ended_at_ms ?? b.admitted_at_ms));
}
