/** The lines of `status` for people. Pure. */
import type { Snapshot } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { originOf } from '../core/address.ts';
import type { BudgetSpend } from '../core/budgets.ts';
import { type LogLoss, lossText } from '../core/log-loss.ts';
import { formatUsd, parseUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import type { UpstreamHealth } from '../observe/worker-snapshot.ts';
import { perPeriod } from '../operator/budgets.ts';
import { forecastCredit, freeOf, lastsText, MINUTE_MS, recentSpending, type Spending } from '../operator/forecast.ts';
import { bytes, count, countOf, duration, exactUsd, usd } from '../operator/format.ts';
import { healthOf, NODE_HEALTH, stateText } from '../operator/health.ts';
import { nodeState, UPSTREAM_STATES } from '../operator/messages.ts';
import { outlookOf } from '../operator/spending.ts';
import {
  amount,
  type Cell,
  type Field,
  fieldLines,
  type Look,
  type Marked,
  marked,
  tableLines,
  zoneOf,
} from '../operator/table.ts';
import type { Balance } from '../state/account.ts';
import type { LogSize, NodeRecord } from '../state/nodes.ts';
import { GROUP_SIGN } from './group-view.ts';

/** Rates are averages over this many seconds. */
export const RATE_S = 10;
/** The number of listed groups, and of listed keys. */
const MOST_SPENT_SHOWN = 10;
/** The error code of a request that was refused because the balance was too low. */
const NO_MONEY = 'insufficient_credit';

/** The account, gateways and log of a shared database. */
export interface Shared extends Balance {
  readonly nodes: readonly NodeRecord[];
  readonly log: LogSize | undefined;
  /** Lost parts of the log that no operator has acknowledged. */
  readonly losses: readonly LogLoss[];
}

/** A group or a key with its tightest budget. */
export interface SpentLevel {
  readonly name: string;
  /** The number of keys in a group; undefined for a key. */
  readonly keys: number | undefined;
  readonly bound: BudgetSpend;
  readonly isSpent: boolean;
}

/** Levels with a spent or nearly spent budget. */
export interface Spent {
  readonly groups: readonly SpentLevel[];
  /** Undefined if there are too many keys to read. */
  readonly keys: readonly SpentLevel[] | undefined;
}

/** Data of the state that a gateway's snapshot does not contain. */
export interface Beside {
  readonly isShared: boolean;
  /** Undefined for a state file, or if the database does not answer. */
  readonly shared: Pick<Shared, 'nodes' | 'log' | 'losses'> | undefined;
  /** Undefined if it cannot be read. */
  readonly spent: Spent | undefined;
  /** The spending of the last seven days; undefined if it cannot be read. */
  readonly week: Spending | undefined;
}

export function uptimeOf({ now_ms: nowMs, started_at_ms: startedAtMs }: Snapshot): number {
  return Math.max(0, Math.floor((nowMs - startedAtMs) / 1000));
}

export function inFlightOf(nodes: readonly NodeRecord[]): number {
  return nodes.reduce((sum, { inFlight }) => sum + inFlight, 0);
}

/** The lines about the running gateway, its upstreams, and the gateways that share its state. */
export function statusLines(snapshot: Snapshot, beside: Beside, look: Look): string[] {
  const { nodes } = beside.shared ?? {};
  return [
    ...fieldLines(fieldsOf(snapshot, beside, look), look),
    ...upstreamLines(snapshot.upstreams, look),
    ...(nodes === undefined ? [] : nodeLines(nodes, snapshot.now_ms, look)),
  ];
}

function fieldsOf(snapshot: Snapshot, beside: Beside, look: Look): readonly Field[] {
  const { requestsPerS, tokensPerS, usdPerMin } = ratesOf(snapshot.seconds, snapshot.now_ms, RATE_S);
  const delay = snapshot.loop_delay_ms;
  const spending = look.room === undefined ? usdPerMin : usd(parseUsd(usdPerMin) ?? 0n);
  const leftOut = ({ name, missing_variable: variable }: Snapshot['skipped'][number]): Field => [
    'left out',
    marked(`${name}: ${variable} is not set`, 'warn'),
  ];
  return [
    ['state', stateOf(snapshot)],
    ['version', `${snapshot.version}, process ${snapshot.pid}, up ${duration(uptimeOf(snapshot))}`],
    ['address', `${originOf(snapshot.address, snapshot.tls !== null)}, ${countOf(snapshot.threads, 'thread')}`],
    ['config', snapshot.config_path ?? 'none (defaults)'],
    ['in flight', inFlightText(snapshot)],
    ['rate', `${requestsPerS.toFixed(1)} requests/s, ${count(Math.round(tokensPerS))} tokens/s, ${spending} USD/min`],
    ...moneyOf(snapshot, beside, look),
    ...spentFields(beside.spent?.groups ?? [], { sign: GROUP_SIGN, more: 'groups list' }, snapshot.now_ms, look),
    ...spentFields(beside.spent?.keys ?? [], { sign: '', more: 'keys list --sort spent' }, snapshot.now_ms, look),
    ...snapshot.skipped.map(leftOut),
    ['event loop delay', `p50 ${delay.p50} ms, p99 ${delay.p99} ms, max ${delay.max} ms`],
    ['memory', bytes(snapshot.memory_bytes)],
    beside.isShared
      ? ['database', databaseText(snapshot.state_path, beside.shared?.log)]
      : ['state file', `${snapshot.state_path}, ${bytes(snapshot.state_bytes)}, log ${bytes(snapshot.log_bytes)}`],
    ...lostFields(beside.shared?.losses ?? []),
  ];
}

function lostFields(losses: readonly LogLoss[]): readonly Field[] {
  return losses.map((loss) => ['lost', marked(lossText(loss), 'bad')]);
}

function databaseText(path: string, log: LogSize | undefined): string {
  return log === undefined
    ? path
    : `${path}, log ${counted(log.entries, 'entry', 'entries', count)}, ${bytes(log.bytes)}`;
}

function stateOf({ draining, storage_fault: storageFault }: Snapshot): Marked {
  if (draining) return marked('shutting down', 'warn');
  return storageFault === null ? marked('serving', 'good') : marked(storageFault, 'bad');
}

function moneyOf(snapshot: Snapshot, { isShared, week }: Beside, look: Look): readonly Field[] {
  const { balance_usd: balanceText, held_usd: heldText } = snapshot;
  if (balanceText === null || heldText === null) return [['balance', 'unknown']];
  if (look.room === undefined) return [['balance', `${balanceText} USD, ${heldText} held`]];
  const balance = { balanceNanos: signedNanos(balanceText), heldNanos: signedNanos(heldText) };
  if (!snapshot.credit_enforced) return [['free', `${freeText(balance)}; credit is not enforced`]];
  // Other gateways spend from a shared balance, too: only the sums in the database include their charges.
  const recent = isShared ? undefined : recentSpending(snapshot.minutes, snapshot.started_at_ms, snapshot.now_ms);
  const refusals = refusedForMoney(snapshot);
  const lasts = lastsText({
    recent: recent && forecastCredit(balance, refusals, recent),
    week: week && forecastCredit(balance, refusals, week),
  });
  return [['free', freeCell(balance)], ...(lasts === undefined ? [] : [['lasts', lasts] as const])];
}

/** The first levels, and the number of further ones, which the command `more` lists. */
function spentFields(
  levels: readonly SpentLevel[],
  { sign, more }: { readonly sign: string; readonly more: string },
  nowMs: number,
  look: Look,
): readonly Field[] {
  const shown = levels.slice(0, MOST_SPENT_SHOWN).map(({ name, keys = 0, bound, isSpent }): Field => {
    const { limitNanos, chargedNanos, period } = bound;
    const figures = `${amount(chargedNanos, look)} of ${amount(limitNanos, look)} USD ${perPeriod(period)}`;
    const outlook = outlookOf(bound, nowMs, undefined, zoneOf(look));
    const pace = outlook?.tone === 'warn' ? ' at its pace' : '';
    const stopped = isSpent && keys > 0 ? `; refuses ${countOf(keys, 'key')}` : '';
    const text = `${sign}${name}: ${figures}${outlook === undefined ? '' : `, ${outlook.text}${pace}`}${stopped}`;
    return [isSpent ? 'spent' : 'nearly spent', marked(text, isSpent ? 'bad' : 'warn')];
  });
  const left = levels.length - shown.length;
  return left === 0 ? shown : [...shown, ['', `and ${count(left)} more: ${more}`]];
}

function freeText(balance: Balance): string {
  return `${usd(freeOf(balance))} USD of ${usd(balance.balanceNanos)}, ${usd(balance.heldNanos)} held`;
}

function freeCell(balance: Balance): Cell {
  return freeOf(balance) > 0n ? freeText(balance) : marked(freeText(balance), 'bad');
}

/** `parseUsd` accepts no sign. */
function signedNanos(text: string): bigint {
  return text.startsWith('-') ? -(parseUsd(text.slice(1)) ?? 0n) : (parseUsd(text) ?? 0n);
}

function refusedForMoney({ seconds, now_ms: nowMs }: Snapshot): number {
  const within = seconds.filter(({ at_s: atS }) => atS * 1_000 >= nowMs - MINUTE_MS);
  return within.reduce((sum, { errors }) => sum + (errors[NO_MONEY] ?? 0), 0);
}

function upstreamLines(upstreams: readonly UpstreamHealth[], look: Look): string[] {
  if (upstreams.length === 0) return [];
  const [minute, upstream] = look.room === undefined ? ['', 'UPSTREAM (LAST MINUTE)'] : ['/MIN', 'UPSTREAM'];
  const columns = [
    { head: upstream, least: 10 },
    { head: 'STATE' },
    { head: 'IN FLIGHT', number: true, rank: 3 },
    { head: `REQUESTS${minute}`, number: true, rank: 2 },
    { head: `FAILED${minute}`, number: true },
    { head: 'LAST FAILURE', prose: true, least: 16, rank: 1 },
  ] as const;
  const rows = upstreams.map((each) => [
    each.upstream,
    look.room === undefined ? UPSTREAM_STATES[each.state] : marked(stateText(each), healthOf(each)),
    count(each.in_flight),
    count(each.requests),
    count(each.failures),
    each.last_failure?.message ?? '-',
  ]);
  return ['', ...tableLines({ columns, rows }, look)];
}

/** The lines about a shared database if no gateway answers here. */
export function sharedLines(
  { statePath, creditEnforced }: { readonly statePath: string; readonly creditEnforced: boolean },
  shared: Shared,
  week: Spending | undefined,
  look: Look,
): string[] {
  const { balanceNanos, heldNanos, nodes, log, losses } = shared;
  const lasts = creditEnforced ? lastsText({ week: week && forecastCredit(shared, 0, week) }) : undefined;
  const money: readonly Field[] =
    look.room === undefined
      ? [['balance', `${formatUsd(balanceNanos)} USD, ${formatUsd(heldNanos)} held`]]
      : [
          ['free', creditEnforced ? freeCell(shared) : freeText(shared)],
          ...(lasts === undefined ? [] : [['lasts', lasts] as const]),
        ];
  const fields: readonly Field[] = [
    ['database', databaseText(statePath, log)],
    ...lostFields(losses),
    ['in flight', count(inFlightOf(nodes))],
    ...money,
  ];
  return [...fieldLines(fields, look), ...nodeLines(nodes, Date.now(), look)];
}

function nodeLines(nodes: readonly NodeRecord[], nowMs: number, look: Look): string[] {
  if (nodes.length === 0) return [];
  const columns = [
    { head: 'NODE', least: 8 },
    { head: 'STATE', least: 12 },
    { head: 'VERSION', rank: 3 },
    { head: 'ADDRESS', rank: 5 },
    { head: 'REQUESTS/MIN', number: true, rank: 1 },
    { head: 'TOKENS/MIN', number: true, rank: 4 },
    { head: 'IN FLIGHT', number: true, rank: 2 },
    { head: 'HELD (USD)', usd: true },
  ] as const;
  const rows = nodes.map((node) => [
    node.name,
    marked(nodeState(node, nowMs), NODE_HEALTH[node.state]),
    node.version,
    node.address,
    count(node.requestsPerMin),
    count(node.tokensPerMin),
    count(node.inFlight),
    exactUsd(node.heldNanos),
  ]);
  return ['', ...tableLines({ columns, rows }, look)];
}

function inFlightText({ in_flight: inFlight, earlier }: Snapshot): string {
  if (!earlier) return count(inFlight);
  return `${count(inFlight)}, of which ${count(earlier.in_flight)} in process ${earlier.pid}, which has handed over`;
}
