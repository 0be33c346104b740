/** The receipt of a command on a leash: what it asked for, what it cost, what was refused. Pure. */
import { isoTime } from '../../core/clock.ts';
import { formatUsd, type Nanos } from '../../core/money.ts';
import { counted } from '../../core/plural.ts';
import { usageJson } from '../../operator/export.ts';
import { count, duration, exactUsd } from '../../operator/format.ts';
import { refusalReason } from '../../operator/messages.ts';
import { type Field, fieldLines, type Look, marked, tableLines } from '../../operator/table.ts';
import type { RequestRecord } from '../../state/requests.ts';
import type { RefusalRow, UsageRow } from '../../state/usage.ts';
import { refusalJson } from '../key-view.ts';
import { usageTable } from '../usage.ts';
import type { Ending } from './child.ts';

/** What a receipt is made of. */
export interface Facts {
  readonly key: { readonly id: string; readonly name: string };
  /** The key of the run around it. */
  readonly outer: { readonly id: string; readonly name: string } | undefined;
  /** How many runs there were inside of it. Their requests count as its own, but for refusals. */
  readonly inner: number;
  readonly command: string;
  readonly ending: Ending;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** As they are at the end: null if an operator has removed them. */
  readonly budgetNanos: Nanos | null;
  readonly expiresAtMs: number | null;
  /** Where the journal is. */
  readonly statePath: string;
  readonly total: UsageRow;
  readonly models: readonly UsageRow[];
  /** Requests that ended in an error, the latest first. There may have been more. */
  readonly failed: readonly RequestRecord[];
  /** Answers that ended at the maximum that the leash set. */
  readonly cutAnswers: number;
  readonly refusals: readonly RefusalRow[];
  /** What was still in flight, and is not in the other figures. */
  readonly inFlight: number;
  /** Errors of the gateway itself. */
  readonly errors: readonly string[];
}

/** What held the command back. */
export type Leash = 'budget' | 'time' | null;

const SPENT = 'spend_limit_reached';

export function leashOf(facts: Facts): Leash {
  const { key, refusals, failed, endedAtMs, expiresAtMs } = facts;
  const wasCut = failed.some(({ keyId, end }) => keyId === key.id && end?.outcome === SPENT);
  if (wasCut || refusals.some(({ code }) => code === SPENT) || isSpent(facts)) return 'budget';
  return expiresAtMs !== null && endedAtMs >= expiresAtMs ? 'time' : null;
}

/** Requests of runs inside of it may have spent it. */
function isSpent({ total, budgetNanos }: Facts): boolean {
  return budgetNanos !== null && total.costNanos >= budgetNanos;
}

export function receiptLines(facts: Facts, look: Look): string[] {
  const { total, models, command, ending } = facts;
  const seconds = (facts.endedAtMs - facts.startedAtMs) / 1_000;
  const title = `${command} ended ${endingText(ending)} after ${duration(seconds)}`;
  const fields: Field[] = [
    ['leash', leashText(facts)],
    ['cost', costText(facts)],
    ['requests', wasUsed(facts) ? requestsText(total) : marked(UNUSED, 'warn')],
    ['tokens', tokensText(total)],
    ...whyFailed(facts.failed).map(([why, requests]): Field => ['failed', `${count(requests)}: ${why}`]),
    ...cutField(facts.cutAnswers),
    ...facts.refusals.map((row): Field => ['refused', `${count(row.requests)}: ${refusalText(row)}`]),
    ...(facts.inFlight > 0
      ? [['in flight', marked(`${counted(facts.inFlight, 'request')}, not counted above`, 'warn')] as const]
      : []),
    ...facts.errors.map((error): Field => ['gateway', marked(error, 'bad')]),
    ['key', `${facts.key.name} (${facts.key.id}), disabled`],
    ...(facts.outer === undefined ? [] : [['inside', `${facts.outer.name} (${facts.outer.id})`] as const]),
    ...(facts.inner === 0 ? [] : [['inside it', `${counted(facts.inner, 'run')}, counted above`] as const]),
    ['journal', facts.statePath],
  ];
  const table = models.length === 0 ? [] : ['', ...tableLines(usageTable(models, ['model'], look), look)];
  return ['', look.paint(title, 'bold'), ...fieldLines(fields, look), ...table];
}

/** The field of a receipt with the answers that were cut. Empty if there are none, or if the gateway is too old to count them. */
export function cutField(answers = 0): Field[] {
  return answers === 0 ? [] : [['cut', cutText(answers)]];
}

function cutText(answers: number) {
  return marked(`${counted(answers, 'answer')} cut at the maximum that the leash set: raise --max-usd`, 'warn');
}

/** `with status 0`, `by SIGTERM`. */
export function endingText({ status, signal }: Ending): string {
  return signal === undefined ? `with status ${status}` : `by ${signal}`;
}

function leashText(facts: Facts) {
  const leash = leashOf(facts);
  switch (leash) {
    case 'budget':
      return marked(
        isSpent(facts) || facts.outer === undefined
          ? 'its budget stopped it'
          : 'the budget of a run around it stopped it',
        'warn',
      );
    case 'time':
      return marked(`its time ended at ${isoTime(facts.expiresAtMs ?? 0)}`, 'warn');
    case null:
      return marked('not reached', 'good');
  }
}

/** It may have used another key, or a vendor directly. */
export const UNUSED = 'none: the command called no model through the gateway';

function wasUsed({ total, refusals, inFlight }: Facts): boolean {
  return total.requests > 0 || refusals.length > 0 || inFlight > 0;
}

function costText({ total, budgetNanos }: Facts): string {
  return `${exactUsd(total.costNanos)}${budgetNanos === null ? '' : ` of ${exactUsd(budgetNanos)}`} USD`;
}

function requestsText({ requests, errors }: UsageRow): string {
  return errors === 0 ? count(requests) : `${count(requests)}, ${count(errors)} of them failed`;
}

function tokensText({ promptTokens, cachedTokens, cacheWriteTokens, completionTokens }: UsageRow): string {
  const caches = [
    ...(cachedTokens > 0 ? [`${count(cachedTokens)} from caches`] : []),
    ...(cacheWriteTokens > 0 ? [`${count(cacheWriteTokens)} written to caches`] : []),
  ];
  const input = `${count(promptTokens)} in${caches.length === 0 ? '' : ` (${caches.join(', ')})`}`;
  return `${input}, ${count(completionTokens)} out`;
}

/** How many causes of failures are listed. */
const MOST_CAUSES = 5;

/** The most frequent causes. */
function whyFailed(failed: readonly RequestRecord[]): [why: string, requests: number][] {
  const counts = new Map<string, number>();
  for (const { end } of failed) {
    const why = end?.failure?.message ?? end?.outcome ?? '';
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_CAUSES);
}

function refusalText(row: RefusalRow): string {
  const reason = refusalReason(row);
  return reason === undefined ? row.code : `${row.code}, ${reason}`;
}

export function receiptJson(facts: Facts) {
  const { key, ending, total } = facts;
  return {
    command: facts.command,
    status: ending.status,
    signal: ending.signal ?? null,
    started_at: isoTime(facts.startedAtMs),
    ended_at: isoTime(facts.endedAtMs),
    key: { id: key.id, name: key.name },
    outer: facts.outer === undefined ? null : { id: facts.outer.id, name: facts.outer.name },
    inner_runs: facts.inner,
    budget_usd: facts.budgetNanos === null ? null : formatUsd(facts.budgetNanos),
    expires_at: facts.expiresAtMs === null ? null : isoTime(facts.expiresAtMs),
    leash: leashOf(facts),
    ...usageJson(total),
    cached_tokens: total.cachedTokens,
    cache_write_tokens: total.cacheWriteTokens,
    models: facts.models.map((row) => usageJson(row, 'model')),
    failures: whyFailed(facts.failed).map(([why, requests]) => ({ why, requests })),
    cut_answers: facts.cutAnswers,
    refusals: facts.refusals.map(refusalJson),
    in_flight: facts.inFlight,
    gateway_errors: facts.errors,
    state: facts.statePath,
  };
}
