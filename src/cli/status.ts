/** `status` and `reload`: what asks the running gateway, through its control socket. */

import type { Command } from 'commander';
import { readSnapshot, reloadConfig } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { UserError } from '../core/errors.ts';
import { PROGRAM } from '../core/program.ts';
import type { UpstreamState } from '../observe/worker-snapshot.ts';
import { count, notice, printFields, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

/** Rates are means over so many seconds. */
const RATE_S = 10;
const NOT_RUNNING = 1;

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('what the running gateway is doing; exit status 1 if none runs')
    .addHelpText('after', '\nExamples:\n  inf-gw status\n  inf-gw status --json')
    .action((_: unknown, command: Command) => status(command));
}

export function registerReload(program: Command): void {
  program
    .command('reload')
    .description('let the running gateway read its config anew; on any fault it keeps the one it has')
    .addHelpText('after', '\nExample:\n  inf-gw reload')
    .action((_: unknown, command: Command) => reload(command));
}

async function status(command: Command): Promise<void> {
  const { statePath } = configOf(command);
  const snapshot = await readSnapshot(socketPathOf(statePath), { maxLive: 0, maxEnded: 0 });
  const { json } = globalOptions(command);
  if (snapshot === undefined) {
    process.exitCode = NOT_RUNNING;
    if (json) return printJson({ running: false, state: statePath });
    return notice(`no gateway runs on ${statePath}; start one with: ${PROGRAM} serve`);
  }
  if (json) return printJson(statusJson(snapshot));
  printStatus(snapshot);
}

async function reload(command: Command): Promise<void> {
  // Its own reading tells what is wrong before the gateway is asked.
  const { statePath } = configOf(command);
  if (!(await reloadConfig(socketPathOf(statePath)))) {
    throw new UserError(`no gateway runs on ${statePath}; start one with: ${PROGRAM} serve`);
  }
  if (globalOptions(command).json) printJson({ reloaded: true });
  else printLine('The gateway serves by the config as it is now.');
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
    ['version', `${snapshot.version}, process ${snapshot.pid}, up for ${shownDuration(uptimeOf(snapshot))}`],
    [
      'address',
      `http://${snapshot.address}, ${count(snapshot.threads)} ${snapshot.threads === 1 ? 'thread' : 'threads'}`,
    ],
    ['config', snapshot.config_path ?? 'none: the defaults'],
    ['requests under way', count(snapshot.in_flight)],
    ['rate', `${requestsPerS.toFixed(1)} requests/s, ${count(Math.round(tokensPerS))} tokens/s, ${usdPerMin} USD/min`],
    ['balance', snapshot.balance_usd === null ? 'not known' : `${snapshot.balance_usd} USD, ${snapshot.held_usd} held`],
    ['event loop delay', `p50 ${delay.p50} ms, p99 ${delay.p99} ms, at most ${delay.max} ms`],
    ['memory', shownBytes(snapshot.memory_bytes)],
    [
      'state file',
      `${snapshot.state_path}, ${shownBytes(snapshot.state_bytes)}, log ${shownBytes(snapshot.log_bytes)}`,
    ],
  ]);
  if (snapshot.upstreams.length === 0) return;
  printLine();
  printTable(
    [
      { head: 'UPSTREAM, LAST MINUTE' },
      { head: 'STATE' },
      { head: 'UNDER WAY', number: true },
      { head: 'REQUESTS', number: true },
      { head: 'FAILED', number: true },
      { head: 'LAST FAILURE' },
    ],
    snapshot.upstreams.map(({ upstream, state, in_flight: inFlight, requests, failures, last_failure: last }) => [
      upstream,
      STATES[state],
      count(inFlight),
      count(requests),
      count(failures),
      last === null ? '-' : last.message,
    ]),
  );
}

/** What the state of an upstream means for the requests that would go to it. */
const STATES: Readonly<Record<UpstreamState, string>> = {
  closed: 'in use',
  open: 'left alone: it failed',
  half_open: 'on trial',
  backing_off: 'left alone: it asked for a pause',
};

function shownDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([number]) => number > 0);
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([number, unit]) => `${number} ${unit}`).join(' ');
}

function shownBytes(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${count(Math.round(bytes / 1024 / 1024))} MB`;
}
