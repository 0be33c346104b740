/** Sums the counts of all threads, and prints them in Prometheus' text format. */
import { readdirSync } from 'node:fs';
import type { LedgerTimes } from '../core/durations.ts';
import { NANOS_PER_USD, type Nanos } from '../core/money.ts';
import { openFilesLimit } from '../core/open-files.ts';
import type { LoopDelay } from '../observe/loop-delay.ts';
import { type KeyTally, OTHERS, type Tally, TOKEN_KINDS } from '../observe/tally.ts';
import type { UpstreamHealth, UpstreamState } from '../observe/worker-snapshot.ts';
import { Families } from './families.ts';

/** Gateway figures on the page, in addition to the workers' counts. */
export interface GatewayFigures {
  readonly version: string;
  readonly threads: number;
  /** The active models. Each gets a series before its first request. */
  readonly models: readonly string[];
  readonly slotsPerKey: number;
  readonly inFlight: number;
  readonly loopDelayMs: LoopDelay;
  readonly upstreams: readonly UpstreamHealth[];
  readonly isFaulty: boolean;
  readonly isDraining: boolean;
  /** Undefined with PostgreSQL. */
  readonly stateBytes: { readonly state: number; readonly log: number } | undefined;
  /** Undefined while the ledger does not answer. */
  readonly account: AccountFigures | undefined;
  readonly ledger: LedgerTimes;
  /** Number of state divergences from other gateways; undefined with a state file. */
  readonly differences: number | undefined;
}

export interface AccountFigures {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** Figures of the requested keys. */
  readonly keys: readonly { readonly keyId: string; readonly open: number }[];
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const STATES: readonly UpstreamState[] = ['closed', 'half_open', 'open', 'backing_off'];
const MS_PER_S = 1000;
const MICROS_PER_S = 1e6;

/**
 * Assigns labels to the first names, up to a limit; later names share one series. A name never changes its series, because the
 * counter of the old series would decrease.
 */
class FirstLabels {
  readonly #most: number;
  readonly #labelled = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  get all(): readonly string[] {
    return [...this.#labelled];
  }

  /** Returns the label of a name; undefined if the limit is 0. */
  labelOf(name: string): string | undefined {
    if (this.#most === 0) return undefined;
    if (name !== OTHERS && this.#labelled.size < this.#most) this.#labelled.add(name);
    return this.#labelled.has(name) ? name : OTHERS;
  }
}

/** Labels of keys and of groups. */
export interface Labels {
  readonly keys: FirstLabels;
  readonly groups: FirstLabels;
}

/** Creates labels with a limit per kind. */
export function labelsUpTo(most: number): Labels {
  return { keys: new FirstLabels(most), groups: new FirstLabels(most) };
}

/** Prints the page. Tallies are summed. */
export function printPage(figures: GatewayFigures, tallies: readonly Tally[], labels: Labels): string {
  const families = new Families();
  addGateway(families, figures);
  addProcess(families);
  for (const tally of tallies) addCounts(families, tally, labels);
  return families.print();
}

/**
 * Converts for display. Prometheus stores doubles, which are exact to the nanodollar up to nine million USD and have sixteen
 * digits beyond. Accounting never uses the result.
 */
export function usd(nanos: Nanos): number {
  return Number(nanos) / Number(NANOS_PER_USD);
}

function addGateway(families: Families, figures: GatewayFigures): void {
  const { version, account, ledger, loopDelayMs, stateBytes } = figures;
  families.add('buildInfo', { version, node_version: process.versions.node }, 1);
  families.add('threads', {}, figures.threads);
  families.add('slotsLimit', {}, figures.slotsPerKey);
  families.add('inFlight', {}, figures.inFlight);
  families.add('storageFault', {}, Number(figures.isFaulty));
  families.add('draining', {}, Number(figures.isDraining));
  for (const statistic of ['p50', 'p99', 'max'] as const) {
    families.add('loopDelay', { statistic }, loopDelayMs[statistic] / MS_PER_S);
  }
  for (const file of ['state', 'log'] as const) {
    if (stateBytes !== undefined) families.add('stateSize', { file }, stateBytes[file]);
  }
  if (account !== undefined) addAccount(families, account);
  families.addHistogram('ledgerBatch', {}, ledger.batch);
  families.addHistogram('ledgerSync', {}, ledger.sync);
  if (figures.differences !== undefined) families.add('ledgerDifferences', {}, figures.differences);
  for (const upstream of figures.upstreams) addUpstream(families, upstream);
  for (const model of figures.models) addZeros(families, model);
}

function addAccount(families: Families, { balanceNanos, heldNanos, keys }: AccountFigures): void {
  families.add('balance', {}, usd(balanceNanos));
  families.add('held', {}, usd(heldNanos));
  for (const { keyId, open } of keys) families.add('keySlots', { key_id: keyId }, open);
}

function addUpstream(families: Families, health: UpstreamHealth): void {
  const { provider, upstream } = health;
  families.add('upstreamInFlight', { provider, upstream }, health.in_flight);
  for (const result of ['ok', 'failed']) families.add('attempts', { upstream, result }, 0);
  for (const state of STATES) {
    families.add('upstreamState', { provider, upstream, state }, Number(state === health.state));
  }
}

/** Starts a series at 0. Without that, `rate()` misses its first request. */
function addZeros(families: Families, model: string): void {
  families.add('requests', { model, outcome: 'ok' }, 0);
  families.add('cost', { model, outcome: 'ok' }, 0);
  for (const kind of TOKEN_KINDS) families.add('tokens', { model, kind }, 0);
  families.add('cacheHits', { model }, 0);
  families.add('cacheSaved', { model }, 0);
}

function addCounts(families: Families, tally: Tally, labels: Labels): void {
  families.add('slots', {}, tally.slots);
  for (const [model, { outcomes, tokens, firstByte, duration, cacheHits, cacheSavedNanos }] of tally.models) {
    for (const [outcome, { requests, costNanos }] of outcomes) {
      families.add('requests', { model, outcome }, requests);
      families.add('cost', { model, outcome }, usd(costNanos));
    }
    for (const kind of TOKEN_KINDS) families.add('tokens', { model, kind }, tokens[kind]);
    families.add('cacheHits', { model }, cacheHits);
    families.add('cacheSaved', { model }, usd(cacheSavedNanos));
    families.addHistogram('firstByte', { model }, firstByte);
    families.addHistogram('duration', { model }, duration);
  }
  for (const [refusal, count] of tally.refusals) {
    const [code = '', reason = '', level = ''] = refusal.split(' ');
    families.add('refusals', { code, reason, level }, count);
  }
  for (const [cause, count] of tally.overload) families.add('overload', { cause }, count);
  for (const [status, count] of tally.responses) families.add('responses', { status: String(status) }, count);
  for (const [upstream, { ok, failed }] of tally.attempts) {
    families.add('attempts', { upstream, result: 'ok' }, ok);
    families.add('attempts', { upstream, result: 'failed' }, failed);
  }
  for (const [keyId, counts] of tally.keys) addKey(families, labels.keys.labelOf(keyId), counts);
  for (const [name, counts] of tally.groups) addGroup(families, labels.groups.labelOf(name), counts);
}

function addKey(families: Families, label: string | undefined, counts: KeyTally): void {
  if (label === undefined) return;
  families.add('keyRequests', { key_id: label }, counts.requests);
  families.add('keyTokens', { key_id: label }, counts.tokens);
  families.add('keyCost', { key_id: label }, usd(counts.costNanos));
  families.add('keyRefusals', { key_id: label }, counts.refusals);
}

function addGroup(families: Families, label: string | undefined, counts: KeyTally): void {
  if (label === undefined) return;
  families.add('groupRequests', { group: label }, counts.requests);
  families.add('groupTokens', { group: label }, counts.tokens);
  families.add('groupCost', { group: label }, usd(counts.costNanos));
  families.add('groupRefusals', { group: label }, counts.refusals);
}

function addProcess(families: Families): void {
  const { user, system } = process.cpuUsage();
  families.add('processCpu', {}, (user + system) / MICROS_PER_S);
  families.add('processMemory', {}, process.memoryUsage.rss());
  families.add('processStart', {}, performance.timeOrigin / MS_PER_S);
  if (process.platform !== 'linux') return;
  families.add('openFiles', {}, readdirSync('/proc/self/fd').length);
  families.add('maxFiles', {}, openFilesLimit() ?? Number.POSITIVE_INFINITY);
}
