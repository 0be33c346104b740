/** `status` and `reload`: query the running gateway through its control socket. `status` also reads a shared database. */
import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { readSnapshot, reloadConfig } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { budgetJson } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { LogLoss } from '../core/log-loss.ts';
import { formatUsd } from '../core/money.ts';
import { program } from '../core/program.ts';
import { MINUTE_MS, RECENT_MS, type Spending, weekSpending, weekStartMs } from '../operator/forecast.ts';
import { groupFigures, type SpendingLevel, spendingLevels } from '../operator/level-figures.ts';
import { CONFIG_RELOADED } from '../operator/messages.ts';
import { isSpent, shareSpent, tightest } from '../operator/spending.ts';
import { noteLines } from '../operator/table.ts';
import { isGone, type KeyRecord } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import type { NodeRecord } from '../state/nodes.ts';
import { isTerminal, look, notice, printJson, printLine, printLines } from './output.ts';
import { configOf, globalOptions, type State, withState } from './state.ts';
import {
  inFlightOf,
  RATE_S,
  type Shared,
  type Spent,
  type SpentLevel,
  sharedLines,
  statusLines,
  uptimeOf,
} from './status-view.ts';
import { repeatJson, watchScreen } from './watch.ts';

/** Levels are listed from this spent part on, as in the first alert. */
const NEARLY_SPENT = 0.8;
/** With more keys, their budgets are not read: `--watch` reads them each second. */
const MOST_KEYS_READ = 1_000;
/** The number of lost parts of the log to show. `audit` shows all. */
const MOST_LOSSES = 4;
/** The exit status if no gateway runs, or if it accepts no requests. */
const NOT_RUNNING = 1;

interface StatusOptions {
  readonly ready?: true;
  readonly watch?: true;
}

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description(
      'show what the running gateway is doing, and every other one on the same database; exit with status 1 if none is running',
    )
    .option('--ready', 'only say whether the gateway of this config takes requests; exit with status 1 if it does not')
    .addOption(
      new Option(
        '--watch',
        'repaint every second until q or Ctrl-C; with --json, print one document per line',
      ).conflicts('ready'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw status\n  inf-gw status --watch\n  inf-gw status --json\n  inf-gw status --ready',
    )
    .action(({ ready, watch: isWatched }: StatusOptions, command: Command) => {
      if (ready) return readiness(command);
      return isWatched ? watch(command) : status(command);
    });
}

export function registerReload(program: Command): void {
  program
    .command('reload')
    .description('make the running gateway reload its config; it keeps the current one if the new one is invalid')
    .addHelpText('after', '\nExample:\n  inf-gw reload')
    .action((_: unknown, command: Command) => reload(command));
}

/** The data of one display. */
interface Readings {
  readonly config: Config;
  /** Undefined if no gateway of this config runs here. */
  readonly snapshot: Snapshot | undefined;
  /** Undefined for a state file. An error if the database does not answer while the gateway may. */
  readonly shared: Shared | UserError | undefined;
  /** Undefined without a gateway, or if it cannot be read. */
  readonly spent: Spent | undefined;
}

async function read(command: Command): Promise<Readings> {
  const config = configOf(command);
  const [snapshot, shared] = await Promise.all([
    readSnapshot(socketPathOf(config), {
      maxLive: 0,
      maxEnded: 0,
      minutesSinceS: Math.floor((Date.now() - RECENT_MS) / 1_000),
    }),
    config.state.kind === 'postgres' ? orUserError(withState(command, readShared)) : undefined,
  ]);
  // Without either, there is no other data to show.
  if (snapshot === undefined && shared instanceof UserError) throw shared;
  const isKnown = snapshot !== undefined && !(shared instanceof UserError);
  const spent = isKnown ? await orUserError(withState(command, readSpent)) : undefined;
  return { config, snapshot, shared, spent: spent instanceof UserError ? undefined : spent };
}

async function readSpent(state: State): Promise<Spent> {
  const { groups, keys: keyCounts } = await groupFigures(state);
  const keys = await state.keys.list({ withDeleted: false, limit: MOST_KEYS_READ + 1 });
  const areRead = keys.length <= MOST_KEYS_READ;
  const levels = await spendingLevels(areRead ? [...groups, ...keys] : groups, state);
  const spentOf = (records: readonly (KeyRecord | GroupRecord)[]) =>
    spentLevels(
      records.flatMap(({ id }) => levels.get(id) ?? []),
      keyCounts,
      state.nowMs,
    );
  return { groups: spentOf(groups), keys: areRead ? spentOf(keys) : undefined };
}

/** The enabled levels with a spent budget, then the levels with a nearly spent one. */
function spentLevels(
  levels: readonly SpendingLevel[],
  keyCounts: ReadonlyMap<string, number>,
  nowMs: number,
): readonly SpentLevel[] {
  const found = levels.flatMap(({ record, bounds }) => {
    if (record.state !== 'enabled' || isGone({ expiresAtMs: null, ...record }, nowMs)) return [];
    const bound = tightest(bounds, nowMs);
    if (bound === undefined || shareSpent(bound) < NEARLY_SPENT) return [];
    return [{ name: record.name, keys: keyCounts.get(record.id), bound, isSpent: isSpent(bound, nowMs) }];
  });
  return found.toSorted((a, b) => Number(b.isSpent) - Number(a.isSpent));
}

async function readShared({ account, nodes }: State): Promise<Shared> {
  return {
    ...(await account.balance()),
    nodes: (await nodes?.list()) ?? [],
    log: await nodes?.logSize(),
    losses: (await nodes?.losses(MOST_LOSSES)) ?? [],
  };
}

async function orUserError<T>(result: Promise<T>): Promise<T | UserError> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/** Reads the spending of the last seven days. Undefined if it cannot be read, or would not be shown. */
async function readWeek(command: Command, { snapshot, shared }: Readings): Promise<Spending | undefined> {
  if (!isTerminal() || shared instanceof UserError || (snapshot === undefined && shared === undefined))
    return undefined;
  const week = await orUserError(
    withState(command, async ({ usage, nowMs }) => {
      const query = { by: 'day', keyId: undefined, model: undefined, untilMs: undefined } as const;
      const { rows } = await usage.report({ ...query, sinceMs: weekStartMs(nowMs) });
      return weekSpending(rows, nowMs);
    }),
  );
  return week instanceof UserError ? undefined : week;
}

async function status(command: Command): Promise<void> {
  const readings = await read(command);
  if (!isAnyAlive(readings)) process.exitCode = NOT_RUNNING;
  const { json } = globalOptions(command);
  // The document itself states that no gateway runs.
  if (!json || readings.snapshot !== undefined) for (const line of remarksOf(readings)) notice(line);
  if (json) return printJson(readingsJson(readings));
  printLines(linesOf(readings, await readWeek(command, readings)));
}

/** Repaints the status until the operator ends it. A gateway that stops or has not started yet does not end it. */
async function watch(command: Command): Promise<void> {
  if (globalOptions(command).json) return repeatJson(async () => readingsJson(await read(command)));
  if (!isTerminal()) {
    command.error(
      'error: --watch repaints a terminal, and the output is not one; add --json for one document per line, each second',
    );
  }
  if (process.env.TERM === 'dumb')
    command.error('error: --watch needs a terminal that can move its cursor, and TERM is dumb');
  let week: { readonly spending: Spending | undefined; readonly atMs: number } | undefined;
  await watchScreen(async () => {
    const readings = await orUserError(read(command));
    if (readings instanceof UserError) return readings.lines.flatMap((line) => noteLines(`error: ${line}`, look()));
    // The week's spending changes slowly. A gateway that starts later may have another state.
    if (week?.spending === undefined || Date.now() >= week.atMs + MINUTE_MS) {
      week = { spending: await readWeek(command, readings), atMs: Date.now() };
    }
    return [...remarksOf(readings).flatMap((line) => noteLines(line, look())), ...linesOf(readings, week.spending)];
  });
}

function isAnyAlive({ snapshot, shared }: Readings): boolean {
  if (snapshot !== undefined) return true;
  return !(shared instanceof UserError) && (shared?.nodes.some(({ state }) => state === 'alive') ?? false);
}

function readingsJson({ config, snapshot, shared, spent }: Readings) {
  const stored = shared instanceof UserError ? undefined : shared;
  if (snapshot !== undefined) {
    return {
      ...statusJson(snapshot),
      spent_groups: spent?.groups.map(spentJson) ?? null,
      spent_keys: spent?.keys?.map(spentJson) ?? null,
      ...(config.state.kind === 'postgres' && { ...logJson(stored), nodes: stored?.nodes.map(nodeJson) ?? null }),
    };
  }
  return { running: false, state: config.statePath, ...(stored && sharedJson(stored)) };
}

/** Notices: that no gateway runs, or that the database does not answer. */
function remarksOf({ config, snapshot, shared }: Readings): readonly string[] {
  if (shared instanceof UserError) return shared.lines;
  return snapshot === undefined ? [notRunning(config, shared)] : [];
}

function linesOf({ config, snapshot, shared, spent }: Readings, week: Spending | undefined): string[] {
  const stored = shared instanceof UserError ? undefined : shared;
  if (snapshot === undefined) return stored === undefined ? [] : sharedLines(config, stored, week, look());
  return statusLines(snapshot, { isShared: config.state.kind === 'postgres', shared: stored, spent, week }, look());
}

/** The result of `/readyz` through the control socket, for health checks without an HTTP client. */
async function readiness(command: Command): Promise<void> {
  const config = configOf(command);
  const snapshot = await readSnapshot(socketPathOf(config), {
    maxLive: 0,
    maxEnded: 0,
    minutesSinceS: Math.floor((Date.now() - RECENT_MS) / 1_000),
  });
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

async function reload(command: Command): Promise<void> {
  // Reports an invalid config here, before the gateway is asked.
  const config = configOf(command);
  if (!(await reloadConfig(socketPathOf(config)))) {
    throw new UserError(notRunning(config));
  }
  if (globalOptions(command).json) printJson({ reloaded: true });
  else printLine(CONFIG_RELOADED);
}

function notRunning({ state, statePath, node }: Config, shared?: Shared): string {
  const start = `start one with: ${program()} serve`;
  if (state.kind === 'file') return `no gateway is running on ${statePath}; ${start}`;
  const isAlive = shared?.nodes.some(({ name, state }) => name === node && state === 'alive') ?? false;
  if (!isAlive) return `no gateway of this config, ${node}, is running here; ${start}`;
  return `the gateway of this config, ${node}, runs elsewhere or as another user; only the database was asked`;
}

function sharedJson(shared: Shared) {
  const { balanceNanos, heldNanos, nodes } = shared;
  return {
    in_flight: inFlightOf(nodes),
    balance_usd: formatUsd(balanceNanos),
    held_usd: formatUsd(heldNanos),
    ...logJson(shared),
    nodes: nodes.map(nodeJson),
  };
}

/** The log of a shared database, which a state file does not have. */
function logJson(shared: Shared | undefined) {
  return {
    log_bytes: shared?.log?.bytes ?? null,
    log_entries: shared?.log?.entries ?? null,
    losses: shared?.losses.map(lossJson) ?? null,
  };
}

function lossJson(loss: LogLoss) {
  return {
    node: loss.node,
    found_at: isoTime(loss.foundAtMs),
    first_entry: Number(loss.keptSeq) + 1,
    last_entry: Number(loss.seenSeq),
    from: isoTime(loss.keptAtMs),
    to: isoTime(loss.seenAtMs),
    requests_held: loss.heldRequests,
    requests_late: loss.lateRequests,
  };
}

function spentJson({ name, bound, isSpent: spent }: SpentLevel) {
  return { name, spent, ...budgetJson(bound) };
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

function statusJson(snapshot: Snapshot) {
  const rates = ratesOf(snapshot.seconds, snapshot.now_ms, RATE_S);
  return {
    running: true,
    version: snapshot.version,
    pid: snapshot.pid,
    uptime_s: uptimeOf(snapshot),
    address: snapshot.address,
    tls: snapshot.tls,
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
    upstreams: snapshot.upstreams.map(({ causes: _, ...upstream }) => upstream),
    skipped: snapshot.skipped,
  };
}
