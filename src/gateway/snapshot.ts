/** Builds the snapshot of a running gateway from the parts that its threads report. */
import type { Certificate } from '../config/certificate.ts';
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { trafficRow } from '../control/traffic-row.ts';
import { formatAddress, type ListenAddress } from '../core/address.ts';
import { fileSize } from '../core/files.ts';
import { formatUsd } from '../core/money.ts';
import { openFilesLimit, roomForConnections } from '../core/open-files.ts';
import { VERSION } from '../core/program.ts';
import type { LedgerSnapshot } from '../ledger/ledger.ts';
import { mergedCauses } from '../observe/failure-causes.ts';
import { addHistogram, type Histogram } from '../observe/histogram.ts';
import { merged, mergedMinutes } from '../observe/traffic.ts';
import type {
  RequestRow,
  SnapshotQuery,
  UpstreamHealth,
  UpstreamState,
  WorkerSnapshot,
} from '../observe/worker-snapshot.ts';
import { keyRows } from './key-activity.ts';
import { skippedParts } from './served.ts';

export interface SnapshotParts {
  readonly config: Config;
  readonly address: ListenAddress;
  /** Undefined for plain HTTP. */
  readonly certificate: Certificate | undefined;
  readonly startedAtMs: number;
  readonly draining: boolean;
  readonly workers: readonly WorkerSnapshot[];
  /** The threads of the earlier process, until it exits. */
  readonly earlier: { readonly pid: number; readonly workers: readonly WorkerSnapshot[] } | undefined;
  /** Contains the keys of `keysToAskFor`. Undefined while the ledger does not answer. */
  readonly ledger: LedgerSnapshot | undefined;
  /** The reason why the state file cannot be written; undefined while it can. */
  readonly storageFault: string | undefined;
}

export function buildSnapshot(parts: SnapshotParts, { keyIds, maxLive, maxEnded }: SnapshotQuery): Snapshot {
  const { config, ledger, earlier } = parts;
  const workers = [...parts.workers, ...(earlier?.workers ?? [])];
  return {
    version: VERSION,
    pid: process.pid,
    started_at_ms: parts.startedAtMs,
    now_ms: Date.now(),
    address: formatAddress(parts.address),
    tls: parts.certificate === undefined ? null : tlsRow(parts.certificate),
    threads: config.threads,
    config_path: config.path ?? null,
    state_path: config.statePath,
    state_bytes: fileSize(config.statePath),
    log_bytes: fileSize(`${config.statePath}-wal`),
    memory_bytes: process.memoryUsage.rss(),
    open_files: {
      limit: openFilesLimit() ?? null,
      room: roomForConnections(config.maxConnections, config.threads),
    },
    draining: parts.draining,
    storage_fault: parts.storageFault ?? null,
    credit_enforced: config.creditEnforced,
    balance_usd: ledger === undefined ? null : formatUsd(ledger.balanceNanos),
    held_usd: ledger === undefined ? null : formatUsd(ledger.heldNanos),
    in_flight: inFlightIn(workers),
    earlier: earlier === undefined ? null : { pid: earlier.pid, in_flight: inFlightIn(earlier.workers) },
    loop_delay_ms: slowestLoop(parts.workers),
    upstreams: mergedUpstreams(parts.workers),
    skipped: skippedParts(config),
    seconds: merged(workers.map(({ seconds }) => seconds)).map(trafficRow),
    minutes: mergedMinutes(workers.map(({ minutes }) => minutes)).map(trafficRow),
    ...(ledger === undefined ? { busiest: [], keys: [] } : keyRows(keyIds, workers, ledger)),
    live: inOrder(workers.flatMap(({ live }) => live)).slice(0, maxLive),
    recent: latest(inOrder(workers.flatMap(({ recent }) => recent)), maxEnded),
  };
}

function tlsRow({ names, expiresAtMs }: Certificate): Snapshot['tls'] {
  return { names, expires_at: new Date(expiresAtMs).toISOString() };
}

export function inFlightIn(workers: readonly WorkerSnapshot[]): number {
  return workers.reduce((sum, { inFlight }) => sum + inFlight, 0);
}

export function slowestLoop(workers: readonly WorkerSnapshot[]): Snapshot['loop_delay_ms'] {
  const highest = (read: (worker: WorkerSnapshot) => number) => Math.max(...workers.map(read));
  return {
    p50: highest(({ loopDelay }) => loopDelay.p50),
    p99: highest(({ loopDelay }) => loopDelay.p99),
    max: highest(({ loopDelay }) => loopDelay.max),
  };
}

/** Merges the health of each upstream over all workers, in config order. */
export function mergedUpstreams(workers: readonly WorkerSnapshot[]): UpstreamHealth[] {
  const sums = new Map<string, UpstreamHealth>();
  for (const each of workers.flatMap(({ upstreams }) => upstreams)) {
    const sum = sums.get(each.upstream);
    sums.set(each.upstream, sum === undefined ? each : mergedHealth(sum, each));
  }
  return [...sums.values()];
}

/** States of an upstream, the worst first. */
const STATES: readonly UpstreamState[] = ['backing_off', 'open', 'half_open', 'closed'];

function mergedHealth(a: UpstreamHealth, b: UpstreamHealth): UpstreamHealth {
  const failures = [a.last_failure, b.last_failure].filter((failure) => failure !== null);
  return {
    provider: a.provider,
    upstream: a.upstream,
    // Each worker has its own circuit breakers. The worst state is shown.
    state: STATES.find((state) => a.state === state || b.state === state) ?? a.state,
    in_flight: a.in_flight + b.in_flight,
    requests: a.requests + b.requests,
    failures: a.failures + b.failures,
    ...(a.unasked && b.unasked && { unasked: true }),
    last_failure: failures.toSorted((one, other) => other.at_ms - one.at_ms)[0] ?? null,
    causes: mergedCauses([a.causes, b.causes]),
    ...mergedFirstBytes(a, b),
  };
}

/** Adds time slots one by one, because all workers use the same clock. */
function mergedFirstBytes({ first_bytes: a }: UpstreamHealth, { first_bytes: b }: UpstreamHealth) {
  const known = a ?? b;
  if (known === undefined) return {};
  const both = a === undefined || b === undefined ? [known] : [a, b];
  return {
    first_bytes: known.map((_, step) => {
      const sum: Histogram = [];
      for (const each of both) addHistogram(sum, each[step] ?? []);
      return sum;
    }),
  };
}

function latest(rows: readonly RequestRow[], count: number): readonly RequestRow[] {
  return rows.slice(Math.max(0, rows.length - count));
}

/** Sorts by end, or by admission while in flight, the earliest first. */
function inOrder(rows: readonly RequestRow[]): RequestRow[] {
  return rows.toSorted((a, b) => (a.ended_at_ms ?? a.admitted_at_ms) - (b.ended_at_ms ?? b.admitted_at_ms));
}
