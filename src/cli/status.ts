/** `status` and `reload`: talk to the running gateway through its control socket. */

import type { Command } from 'commander';
import { readSnapshot, reloadConfig } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { UserError } from '../core/errors.ts';
import { PROGRAM } from '../core/program.ts';
import { bytes, count, duration } from '../operator/format.ts';
import { CONFIG_RELOADED, UPSTREAM_STATES } from '../operator/messages.ts';
import { notice, printFields, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

/** Rates are averages over this many seconds. */
const RATE_S = 10;
const NOT_RUNNING = 1;

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('show what the running gateway is doing; exit with status 1 if none is running')
    .addHelpText('after', '\nExamples:\n  inf-gw status\n  inf-gw status --json')
    .action((_: unknown, command: Command) => status(command));
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
  const { statePath } = config;
  const snapshot = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 });
  const { json } = globalOptions(command);
  if (snapshot === undefined) {
    process.exitCode = NOT_RUNNING;
    if (json) return printJson({ running: false, state: statePath });
    return notice(notRunning(statePath));
  }
  if (json) return printJson(statusJson(snapshot));
  printStatus(snapshot);
}

async function reload(command: Command): Promise<void> {
  // Reading the config here reports an invalid one before the gateway is asked.
  const config = configOf(command);
  if (!(await reloadConfig(socketPathOf(config)))) {
    throw new UserError(notRunning(config.statePath));
  }
  if (globalOptions(command).json) printJson({ reloaded: true });
  else printLine(CONFIG_RELOADED);
}

function notRunning(statePath: string): string {
  return `no gateway is running on ${statePath}; start one with: ${PROGRAM} serve`;
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

function printStatus(snapshot: Snapshot): void {
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
    ['in flight', count(snapshot.in_flight)],
    ['rate', `${requestsPerS.toFixed(1)} requests/s, ${count(Math.round(tokensPerS))} tokens/s, ${usdPerMin} USD/min`],
    ['balance', snapshot.balance_usd === null ? 'unknown' : `${snapshot.balance_usd} USD, ${snapshot.held_usd} held`],
    ...snapshot.skipped.map(
      ({ name, missing_variable: variable }) => ['left out', `${name}: ${variable} is not set`] as const,
    ),
    ['event loop delay', `p50 ${delay.p50} ms, p99 ${delay.p99} ms, max ${delay.max} ms`],
    ['memory', bytes(snapshot.memory_bytes)],
    ['state file', `${snapshot.state_path}, ${bytes(snapshot.state_bytes)}, log ${bytes(snapshot.log_bytes)}`],
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
