/** A key as the commands show it. */

import type { Command } from 'commander';
import { isoTime, utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { whyNot } from '../operator/input.ts';
import { type KeyChange, type KeyRecord, limitsInForce } from '../state/keys.ts';
import type { MonthFigures, RefusalRow } from '../state/usage.ts';
import { count, dim, notice, printFields, printJson, printLine, printTable, usd } from './output.ts';
import { globalOptions, type State } from './state.ts';

const NO_FIGURES: MonthFigures = { requests: 0, tokens: 0, costNanos: 0n };

/** The JSON shape of a key. `limits` holds the numbers in force. */
export function keyJson(key: KeyRecord, state: State, month = monthOf(key, state)) {
  const { rpm, tpm, concurrency } = limitsInForce(key, state.config.tier);
  return {
    id: key.id,
    name: key.name,
    preview: key.preview,
    state: key.state,
    limits: { rpm, tpm, concurrency },
    spend_limit_usd: key.spendLimitNanos === null ? null : formatUsd(key.spendLimitNanos),
    allowlist: key.allowlist,
    created_at: isoTime(key.createdAtMs),
    month: { requests: month.requests, tokens: month.tokens, cost_usd: formatUsd(month.costNanos) },
  };
}

function monthOf(key: KeyRecord, state: State): MonthFigures {
  return state.usage.monthOf(key.id, utcMonth(state.nowMs));
}

/** Up to so many keys, the figures of each are looked up by themselves; of more, those of all keys are read in one go. */
const LOOKED_UP = 1_000;

/** This month's figures of these keys. */
function monthsOf(keys: readonly KeyRecord[], state: State): ReadonlyMap<string, MonthFigures> {
  if (keys.length > LOOKED_UP) return state.usage.month(utcMonth(state.nowMs));
  return new Map(keys.map((key) => [key.id, monthOf(key, state)]));
}

export function keysJson(keys: readonly KeyRecord[], state: State) {
  const figures = monthsOf(keys, state);
  return keys.map((key) => keyJson(key, state, figures.get(key.id) ?? NO_FIGURES));
}

/** Prints a key: as JSON where that is asked for, else all that there is to say of it. */
export function printResult(key: KeyRecord, command: Command, state: State): void {
  if (globalOptions(command).json) printJson(keyJson(key, state));
  else printKey(key, state);
}

/** Models that are not in the catalog may be on a list, since the config may get them later; a typing error may not. */
export function warnOfUnknownModels(models: readonly string[], state: State): void {
  const known = new Set(state.catalog.models.map((model) => model.id));
  for (const model of models) {
    if (!known.has(model)) notice(`note: ${model} is not in the config; \`${PROGRAM} models\` lists what is`);
  }
}

/** Prints all that there is to say of a key. */
export function printKey(key: KeyRecord, state: State): void {
  const month = monthOf(key, state);
  const lastUse = state.usage.lastUseOf(key.id);
  const { tier, tierName } = state.config;
  const limit = (own: number | null, standard: number) =>
    `${count(own ?? standard)}${own === null ? ` (tier ${tierName})` : ''}`;
  printFields([
    ['name', key.name],
    ['id', key.id],
    ['key', key.preview],
    ['state', key.state],
    ['created', isoTime(key.createdAtMs)],
    ['requests per minute', limit(key.rpm, tier.rpm)],
    ['tokens per minute', limit(key.tpm, tier.tpm)],
    ['requests at once', limit(key.concurrency, tier.concurrency)],
    ['monthly spend limit', key.spendLimitNanos === null ? 'none' : usd(key.spendLimitNanos)],
    ['models', allowlistText(key.allowlist)],
    ['last used', lastUse === undefined ? 'never' : isoTime(lastUse)],
    ['this month (UTC)', `${count(month.requests)} requests, ${count(month.tokens)} tokens, ${usd(month.costNanos)}`],
  ]);
}

export function allowlistText(allowlist: readonly string[] | null): string {
  if (allowlist === null) return 'all';
  return allowlist.length === 0 ? 'none' : allowlist.join(', ');
}

export function printKeys(keys: readonly KeyRecord[], state: State): void {
  const figures = monthsOf(keys, state);
  printTable(
    [
      { head: 'NAME' },
      { head: 'ID', rank: 5 },
      { head: 'KEY', rank: 2 },
      { head: 'STATE' },
      { head: 'RPM', number: true },
      { head: 'TPM', number: true, rank: 4 },
      { head: 'AT ONCE', number: true, rank: 4 },
      { head: 'LIMIT (USD)', usd: true },
      { head: 'REQUESTS', number: true },
      { head: 'TOKENS', number: true, rank: 1 },
      { head: 'COST (USD)', usd: true },
      { head: 'MODELS', rank: 3 },
    ],
    keys.map((key) => {
      const month = figures.get(key.id) ?? NO_FIGURES;
      const limits = limitsInForce(key, state.config.tier);
      return [
        key.name,
        key.id,
        key.preview,
        key.state,
        count(limits.rpm),
        count(limits.tpm),
        count(limits.concurrency),
        key.spendLimitNanos === null ? '-' : formatUsd(key.spendLimitNanos),
        count(month.requests),
        count(month.tokens),
        formatUsd(month.costNanos),
        key.allowlist === null
          ? 'all'
          : key.allowlist.length === 1
            ? String(key.allowlist[0])
            : `${key.allowlist.length} models`,
      ];
    }),
  );
  printLine(dim('Requests, tokens and cost are those of this month (UTC).'));
}

/** The JSON shape of how often a key was refused, and why. */
export function refusalJson({ code, reason, requests, lastAtMs }: RefusalRow) {
  return { code, reason, requests, last_at: isoTime(lastAtMs) };
}

/** Prints why a key was refused this month, if it was. */
export function printRefusals(refusals: readonly RefusalRow[]): void {
  if (refusals.length === 0) return printLine(dim('No request of it was refused this month.'));
  printTable(
    [{ head: 'REFUSED THIS MONTH' }, { head: 'WHY' }, { head: 'REQUESTS', number: true }, { head: 'LAST (UTC)' }],
    refusals.map(({ code, reason, requests, lastAtMs }) => [
      code,
      reason === code ? '' : reason.replaceAll('_', ' '),
      count(requests),
      isoTime(lastAtMs).replace('T', ' ').slice(0, 19),
    ]),
  );
}

/** The key of that id or name. Throws a UserError where there is none. */
export function existing(key: KeyRecord | undefined, idOrName: string): KeyRecord {
  if (key === undefined) throw noSuchKey(idOrName);
  return key;
}

/** The key that a change has made of it. Throws a UserError where the change could not be made. */
export function changed(change: KeyChange, idOrName: string): KeyRecord {
  if (change.kind === 'done') return change.key;
  throw new UserError(whyNot(change, idOrName));
}

function noSuchKey(idOrName: string): UserError {
  return new UserError(whyNot({ kind: 'no_such_key' }, idOrName));
}
