/** `status` and `reload`: talk to the running gateway through its control socket; `status` also to the database. */

import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { readSnapshot, reloadConfig } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { budgetJson } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { MINUTE_MS, type Spending, weekSpending, weekStartMs } from '../operator/forecast.ts';
import { groupFigures, NO_FIGURES } from '../operator/level-figures.ts';
import { CONFIG_RELOADED } from '../operator/messages.ts';
import { isSpent, shareSpent, spendBounds, tightest } from '../operator/spending.ts';
import { noteLines } from '../operator/table.ts';
import type { NodeRecord } from '../state/nodes.ts';
import { isTerminal, look, notice, printJson, printLine, printLines } from './output.ts';
import { configOf, globalOptions, type State, withState } from './state.ts';
import { inFlightOf, RATE_S, type Shared, type SpentGroup, sharedLines, statusLines, uptimeOf } from './status-view.ts';
import { repeatJson, watchScreen } from './watch.ts';

/** The share of a budget from which on a group is shown, which is that of the first alert. */
const NEARLY_SPENT = 0.8;
/** No gateway is running, or it takes no requests. */
const NOT_RUNNING = 1;

interface StatusOptions {
  readonly ready?: true;
  readonly watch?: true;
}

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('show what the running gateway is doing, and all that share its state; exit with status 1 if none is')
    .option('--ready', 'only say whether the gateway of this config takes requests; exit with status 1 if it does not')
    .addOption(
      new Option('--watch', 'repaint it each second until q or Ctrl-C; with --json, one document per line').conflicts(
        'ready',
      ),
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

/** What can be seen at one moment. */
interface Sight {
  readonly config: Config;
  /** Undefined if no gateway of this config runs here. */
  readonly snapshot: Snapshot | undefined;
  /** Undefined where the gateway owns its state, an error where the database does not answer: the gateway may. */
  readonly shared: Shared | UserError | undefined;
  /** Undefined where no gateway runs, or the state does not tell. */
  readonly groups: readonly SpentGroup[] | undefined;
}

async function see(command: Command): Promise<Sight> {
  const config = configOf(command);
  const [snapshot, shared] = await Promise.all([
    readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 }),
    config.state.kind === 'postgres' ? orUserError(withState(command, readShared)) : undefined,
  ]);
  // There is nothing else to show then.
  if (snapshot === undefined && shared instanceof UserError) throw shared;
  const isKnown = snapshot !== undefined && !(shared instanceof UserError);
  const groups = isKnown ? await orUserError(withState(command, readSpentGroups)) : undefined;
  return { config, snapshot, shared, groups: groups instanceof UserError ? undefined : groups };
}

/** Those that are enabled and have spent nearly all of what they may, or all. */
async function readSpentGroups(state: State): Promise<readonly SpentGroup[]> {
  const { groups, months, spends } = await groupFigures(state);
  return groups.flatMap(({ id, name, state: standing, spendLimitNanos }) => {
    const { costNanos } = months.get(id) ?? NO_FIGURES;
    const bounds = spendBounds(spendLimitNanos, costNanos, spends.get(id) ?? [], state.nowMs);
    const bound = tightest(bounds, state.nowMs);
    const isShown = standing === 'enabled' && bound !== undefined && shareSpent(bound) >= NEARLY_SPENT;
    return isShown ? [{ name, bound, isSpent: isSpent(bound, state.nowMs) }] : [];
  });
}

async function readShared({ account, nodes }: State): Promise<Shared> {
  return { ...(await account.balance()), nodes: (await nodes?.list()) ?? [] };
}

async function orUserError<T>(result: Promise<T>): Promise<T | UserError> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/** What the last seven days cost; undefined where that cannot be read, or nobody would see it. */
async function readWeek(command: Command, { snapshot, shared }: Sight): Promise<Spending | undefined> {
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
  const sight = await see(command);
  if (!isAnyAlive(sight)) process.exitCode = NOT_RUNNING;
  const { json } = globalOptions(command);
  // The document itself says that no gateway runs.
  if (!json || sight.snapshot !== undefined) for (const line of remarksOf(sight)) notice(line);
  if (json) return printJson(sightJson(sight));
  printLines(linesOf(sight, await readWeek(command, sight)));
}

/** Shows it until the operator has seen enough. A gateway that stops, or is not there yet, does not end it. */
async function watch(command: Command): Promise<void> {
  if (globalOptions(command).json) return repeatJson(async () => sightJson(await see(command)));
  if (!isTerminal()) {
    command.error(
      'error: --watch repaints a terminal, and the output is none; add --json for one document per line, each second',
    );
  }
  if (process.env.TERM === 'dumb') command.error('error: --watch repaints the terminal, and TERM says that it is dumb');
  let week: { readonly spending: Spending | undefined; readonly atMs: number } | undefined;
  await watchScreen(async () => {
    const sight = await orUserError(see(command));
    if (sight instanceof UserError) return sight.lines.flatMap((line) => noteLines(`error: ${line}`, look()));
    // It changes slowly, and a gateway that starts later brings its own.
    if (week?.spending === undefined || Date.now() >= week.atMs + MINUTE_MS) {
      week = { spending: await readWeek(command, sight), atMs: Date.now() };
    }
    return [...remarksOf(sight).flatMap((line) => noteLines(line, look())), ...linesOf(sight, week.spending)];
  });
}

function isAnyAlive({ snapshot, shared }: Sight): boolean {
  if (snapshot !== undefined) return true;
  return !(shared instanceof UserError) && (shared?.nodes.some(({ state }) => state === 'alive') ?? false);
}

function sightJson({ config, snapshot, shared, groups }: Sight) {
  const nodes = shared === undefined || shared instanceof UserError ? undefined : shared.nodes;
  if (snapshot !== undefined) {
    return {
      ...statusJson(snapshot),
      spent_groups: groups?.map(spentJson) ?? null,
      ...(config.state.kind === 'postgres' && { nodes: nodes?.map(nodeJson) ?? null }),
    };
  }
  const stored = shared instanceof UserError ? undefined : shared;
  return { running: false, state: config.statePath, ...(stored && sharedJson(stored)) };
}

/** What is not a figure: that no gateway runs, or that the database does not answer. */
function remarksOf({ config, snapshot, shared }: Sight): readonly string[] {
  if (shared instanceof UserError) return shared.lines;
  return snapshot === undefined ? [notRunning(config, shared)] : [];
}

function linesOf({ config, snapshot, shared, groups }: Sight, week: Spending | undefined): string[] {
  const stored = shared instanceof UserError ? undefined : shared;
  if (snapshot === undefined) return stored === undefined ? [] : sharedLines(config, stored, week, look());
  return statusLines(
    snapshot,
    { isShared: config.state.kind === 'postgres', nodes: stored?.nodes, groups, week },
    look(),
  );
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

function spentJson({ name, bound, isSpent: spent }: SpentGroup) {
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
