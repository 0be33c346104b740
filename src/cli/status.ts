/** `status` and `reload`: talk to the running gateway through its control socket; `status` also to the database. */

import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { readSnapshot, reloadConfig } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { bytes, count, duration, exactUsd } from '../operator/format.ts';
import { CONFIG_RELOADED, nodeState, UPSTREAM_STATES } from '../operator/messages.ts';
import type { Balance } from '../state/account.ts';
import type { NodeRecord } from '../state/nodes.ts';
import { notice, printFields, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions, withState } from './state.ts';

/** Rates are averages over this many seconds. */
const RATE_S = 10;
/** No gateway is running, or it takes no requests. */
const NOT_RUNNING = 1;

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('show what the running gateway is doing, and all that share its state; exit with status 1 if none is')
    .option('--ready', 'only say whether the gateway of this config takes requests; exit with status 1 if it does not')
    .addHelpText('after', '\nExamples:\n  inf-gw status\n  inf-gw status --json\n  inf-gw status --ready')
    .action(({ ready }: { ready?: true }, command: Command) => (ready ? readiness(command) : status(command)));
}

export function registerReload(program: Command): void {
  program
    .command('reload')
    .description('make the running gateway reload its config; it keeps the current one if the new one is invalid')
    .addHelpText('after', '\nExample:\n  inf-gw reload')
    .action((_: unknown, command: Command) => reload(command));
}

async function status(command: Command): Promise<void> {
  const config = configOf(command);
  const isShared = config.state.kind === 'postgres';
  const [snapshot, shared] = await Promise.all([
    readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 }),
    isShared ? readShared(command) : undefined,
  ]);
  const { json } = globalOptions(command);
  if (snapshot === undefined) {
    // There is nothing else to show then.
    if (shared instanceof UserError) throw shared;
    if (!shared?.nodes.some(({ state }) => state === 'alive')) process.exitCode = NOT_RUNNING;
    if (json) return printJson({ running: false, state: config.statePath, ...(shared && sharedJson(shared)) });
    notice(notRunning(config, shared));
    return shared && printShared(config, shared);
  }
  if (shared instanceof UserError) for (const line of shared.lines) notice(line);
  const nodes = shared === undefined || shared instanceof UserError ? undefined : shared.nodes;
  if (json) return printJson({ ...statusJson(snapshot), ...(isShared && { nodes: nodes?.map(nodeJson) ?? null }) });
  printStatus(snapshot, isShared);
  if (nodes !== undefined) printNodes(nodes);
}

/** What `/readyz` says, from beside the gateway: for health checks where there is no HTTP client. */
async function readiness(command: Command): Promise<void> {
  const config = configOf(command);
  const snapshot = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 });
  const fault = snapshot === undefined ? notRunning(config) : whyNotReady(snapshot);
  if (fault !== undefined) process.exitCode = NOT_RUNNING;
  if (globalOptions(command).json) printJson({ ready: fault === undefined, reason: fault ?? null });
  else if (fault === undefined) printLine('ready');
  else notice(fault);
}

function whyNotReady({ draining, storage_fault: storageFault }: Snapshot): string | undefined {
  if (draining) return 'the gateway is shutting down';
  return storageFault ?? undefined;
}

/** What the database says of all gateways that share it. */
interface Shared extends Balance {
  readonly nodes: readonly NodeRecord[];
}

/** Resolves with a UserError where the database does not answer: the gateway may. */
async function readShared(command: Command): Promise<Shared | UserError> {
  try {
    return await withState(command, async ({ account, nodes }) => ({
      ...(await account.balance()),
      nodes: (await nodes?.list()) ?? [],
    }));
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

async function reload(command: Command): Promise<void> {
  // Reading the config here reports an invalid one before the gateway is asked.
  const config = configOf(command);
  if (!(await reloadConfig(socketPathOf(config)))) {
    throw new UserError(notRunning(config));
  }
  if (globalOptions(command).json) printJson({ reloaded: true });
  else printLine(CONFIG_RELOADED);
}

function notRunning({ state, statePath, node }: Config, shared?: Shared): string {
  const start = `start one with: ${PROGRAM} serve`;
  if (state.kind === 'file') return `no gateway is running on ${statePath}; ${start}`;
  const isAlive = shared?.nodes.some(({ name, state }) => name === node && state === 'alive') ?? false;
  if (!isAlive) return `no gateway of this config, ${node}, is running here; ${start}`;
  return `the gateway of this config, ${node}, does not run here, or as another user; asking the database alone`;
}

function sharedJson({ balanceNanos, heldNanos, nodes }: Shared) {
  return {
    in_flight: inFlightOf(nodes),
    balance_usd: formatUsd(balanceNanos),
    held_usd: formatUsd(heldNanos),
    nodes: nodes.map(nodeJson),
  };
}

function nodeJson(node: NodeRecord) {
  return {
    name: node.name,
    version: node.version,
    address: node.address,
    alive: node.state === 'alive',
    state: node.state,
    started_at: isoTime(node.startedAtMs),
    seen_at: isoTime(node.seenAtMs),
    requests_per_min: node.requestsPerMin,
    tokens_per_min: node.tokensPerMin,
    in_flight: node.inFlight,
    held_usd: formatUsd(node.heldNanos),
  };
}

function inFlightOf(nodes: readonly NodeRecord[]): number {
  return nodes.reduce((sum, { inFlight }) => sum + inFlight, 0);
}

function statusJson(snapshot: Snapshot) {
  const rates = ratesOf(snapshot.seconds, snapshot.now_ms, RATE_S);
  return {
    running: true,
    version: snapshot.version,
    pid: snapshot.pid,
    uptime_s: uptimeOf(snapshot),
    address: snapshot.address,
    threads: snapshot.threads,
    config: snapshot.config_path,
    state: snapshot.state_path,
    draining: snapshot.draining,
    storage_fault: snapshot.storage_fault,
    in_flight: snapshot.in_flight,
    earlier: snapshot.earlier ?? null,
    requests_per_s: rates.requestsPerS,
    tokens_per_s: rates.tokensPerS,
    usd_per_min: rates.usdPerMin,
    balance_usd: snapshot.balance_usd,
    held_usd: snapshot.held_usd,
    loop_delay_ms: snapshot.loop_delay_ms,
    memory_bytes: snapshot.memory_bytes,
    state_bytes: snapshot.state_bytes,
    log_bytes: snapshot.log_bytes,
    upstreams: snapshot.upstreams,
    skipped: snapshot.skipped,
  };
}

function uptimeOf({ now_ms: nowMs, started_at_ms: startedAtMs }: Snapshot): number {
  return Math.max(0, Math.floor((nowMs - startedAtMs) / 1000));
}

function inFlightText({ in_flight: inFlight, earlier }: Snapshot): string {
  if (!earlier) return count(inFlight);
  return `${count(inFlight)}, of which ${count(earlier.in_flight)} in process ${earlier.pid}, which has handed over`;
}

function printStatus(snapshot: Snapshot, isShared: boolean): void {
  const { requestsPerS, tokensPerS, usdPerMin } = ratesOf(snapshot.seconds, snapshot.now_ms, RATE_S);
  const delay = snapshot.loop_delay_ms;
  const state = snapshot.draining ? 'shutting down' : (snapshot.storage_fault ?? 'serving');
  printFields([
    ['state', state],
    ['version', `${snapshot.version}, process ${snapshot.pid}, up ${duration(uptimeOf(snapshot))}`],
    [
      'address',
      `http://${snapshot.address}, ${count(snapshot.threads)} ${snapshot.threads === 1 ? 'thread' : 'threads'}`,
    ],
    ['config', snapshot.config_path ?? 'none (defaults)'],
    ['in flight', inFlightText(snapshot)],
    ['rate', `${requestsPerS.toFixed(1)} requests/s, ${count(Math.round(tokensPerS))} tokens/s, ${usdPerMin} USD/min`],
    ['balance', snapshot.balance_usd === null ? 'unknown' : `${snapshot.balance_usd} USD, ${snapshot.held_usd} held`],
    ...snapshot.skipped.map(
      ({ name, missing_variable: variable }) => ['left out', `${name}: ${variable} is not set`] as const,
    ),
    ['event loop delay', `p50 ${delay.p50} ms, p99 ${delay.p99} ms, max ${delay.max} ms`],
    ['memory', bytes(snapshot.memory_bytes)],
    isShared
      ? ['database', snapshot.state_path]
      : ['state file', `${snapshot.state_path}, ${bytes(snapshot.state_bytes)}, log ${bytes(snapshot.log_bytes)}`],
  ]);
  if (snapshot.upstreams.length === 0) return;
  printLine();
  printTable(
    [
      { head: 'UPSTREAM (LAST MINUTE)' },
      { head: 'STATE' },
      { head: 'IN FLIGHT', number: true },
      { head: 'REQUESTS', number: true },
      { head: 'FAILED', number: true },
      { head: 'LAST FAILURE' },
    ],
    snapshot.upstreams.map(({ upstream, state, in_flight: inFlight, requests, failures, last_failure: last }) => [
      upstream,
      UPSTREAM_STATES[state],
      count(inFlight),
      count(requests),
      count(failures),
      last === null ? '-' : last.message,
    ]),
  );
}

/** What there is to show where no gateway can be asked. */
function printShared({ statePath }: Config, { balanceNanos, heldNanos, nodes }: Shared): void {
  printFields([
    ['database', statePath],
    ['in flight', count(inFlightOf(nodes))],
    ['balance', `${formatUsd(balanceNanos)} USD, ${formatUsd(heldNanos)} held`],
  ]);
  printNodes(nodes);
}

function printNodes(nodes: readonly NodeRecord[]): void {
  if (nodes.length === 0) return;
  const nowMs = Date.now();
  printLine();
  printTable(
    [
      { head: 'NODE' },
      { head: 'STATE' },
      { head: 'VERSION', rank: 1 },
      { head: 'ADDRESS', rank: 3 },
      { head: 'REQUESTS/MIN', number: true },
      { head: 'TOKENS/MIN', number: true, rank: 2 },
      { head: 'IN FLIGHT', number: true },
      { head: 'HELD (USD)', usd: true },
    ],
    nodes.map((node) => [
      node.name,
      nodeState(node, nowMs),
      node.version,
      node.address,
      count(node.requestsPerMin),
      count(node.tokensPerMin),
      count(node.inFlight),
      exactUsd(node.heldNanos),
    ]),
  );
}
