/** Keys as JSON, as fields, and in a table. */
import type { Command } from 'commander';
import { isoTime, utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Limits } from '../core/limits.ts';
import { program } from '../core/program.ts';
import { forecastLimit, limitText } from '../operator/forecast.ts';
import { count, dateTime, exactUsd } from '../operator/format.ts';
import { keyJson as keyWithFigures } from '../operator/key-json.ts';
import { NO_FIGURES, type SpendingLevel, spendingLevels } from '../operator/level-figures.ts';
import { allowlistText, explainKeyChange, refusalReason, unknownModel } from '../operator/messages.ts';
import { MONTH, shareSpent, tightest } from '../operator/spending.ts';
import { type Field, fieldLines, type Look, type Table } from '../operator/table.ts';
import { TIER_NAMES, TIER_TERMS } from '../operator/terms.ts';
import type { KeyChange, KeyRecord } from '../state/keys.ts';
import type { MonthFigures, RefusalRow } from '../state/usage.ts';
import { blockedJson, GROUP_SIGN, namesGroup, stateCell } from './group-view.ts';
import {
  BUDGETS_COLUMN,
  budgetField,
  budgetsCell,
  monthField,
  mostAlike,
  STATE_COLUMN,
  userLimitFields,
} from './level-view.ts';
import {
  isTerminal,
  look,
  money,
  notice,
  printFields,
  printJson,
  printLine,
  printNote,
  printTable,
  remarkLines,
  remarkLook,
} from './output.ts';
import { globalOptions, type State } from './state.ts';

export async function keyJson(key: KeyRecord, state: State) {
  return keyJsonAmong(key, { month: await monthOf(key, state), levels: await spendingLevels([key], state) }, state);
}

interface KeyAmong {
  readonly month: MonthFigures;
  readonly levels: ReadonlyMap<string, SpendingLevel>;
}

function keyJsonAmong(key: KeyRecord, { month, levels }: KeyAmong, { config, nowMs }: State) {
  const group = levels.get(key.groupId ?? '')?.record.name ?? null;
  const level = levels.get(key.id);
  const json = keyWithFigures(key, { month, spends: level?.spends ?? [], group }, config.tier);
  return { ...json, blocked_by: level === undefined ? null : blockedJson(level, levels, nowMs) };
}

/** The JSON of a new key, which alone contains the key itself. */
export async function newKeyJson(record: KeyRecord, secret: string, state: State) {
  return { ...(await keyJson(record, state)), key: secret };
}

/** Prints a new key. Other than in JSON, keys are printed only here. */
export function printSecret(secret: string): void {
  printLine(secret, 'bold');
  notice('This key is shown only once. Store it now.');
}

function monthOf(key: KeyRecord, state: State): Promise<MonthFigures> {
  return state.usage.monthOf(key.id, utcMonth(state.nowMs));
}

function monthsOf(keys: readonly KeyRecord[], state: State): Promise<ReadonlyMap<string, MonthFigures>> {
  const ids = keys.map(({ id }) => id);
  return state.usage.monthsOf(ids, utcMonth(state.nowMs));
}

export async function keysJson(keys: readonly KeyRecord[], state: State) {
  const { months, levels } = await figuresOf(keys, state);
  return keys.map((key) => keyJsonAmong(key, { month: months.get(key.id) ?? NO_FIGURES, levels }, state));
}

/** Prints a key, as JSON if the command asks for it. */
export async function printResult(key: KeyRecord, command: Command, state: State): Promise<void> {
  if (globalOptions(command).json) printJson(await keyJson(key, state));
  else await printKey(key, state);
}

/** Warns of a model that is not in the config. It may be added later, or be a typo. */
export function warnOfUnknownModels(models: readonly string[], state: State): void {
  const known = new Set(state.catalog.models.map((model) => model.id));
  for (const model of models) {
    if (!known.has(model)) notice(`note: ${unknownModel(model)}`);
  }
}

export async function printKey(key: KeyRecord, state: State): Promise<void> {
  printFields(await keyFields(key, state));
}

/**
 * Prints the fields of a new key. On a pipe the key stands alone on stdout, and its fields go to stderr: `KEY=$(inf-gw keys
 * create ci)`.
 */
export async function printBesideKey(key: KeyRecord, state: State, note?: string): Promise<void> {
  const fields = await keyFields(key, state);
  if (!isTerminal()) {
    remarkLines(fieldLines(fields, remarkLook()));
    if (note !== undefined) notice(note);
    return;
  }
  printLine();
  printFields(fields);
  if (note === undefined) return;
  printLine();
  printLine(note);
}

async function keyFields(key: KeyRecord, state: State): Promise<Field[]> {
  const month = await monthOf(key, state);
  const lastUse = await state.usage.lastUseOf(key.id);
  const levels = await spendingLevels([key], state);
  const { spends = [], bounds = [] } = levels.get(key.id) ?? {};
  const group = levels.get(key.groupId ?? '')?.record;
  const { tier, tierName } = state.config;
  const limit = (own: number | null, standard: number) =>
    `${count(own ?? standard)}${own === null ? ` (tier ${tierName})` : ''}`;
  const charged = bounds.find(({ period }) => period === MONTH)?.chargedNanos ?? month.costNanos;
  const reached = limitText(forecastLimit(key.spendLimitNanos, charged, state.nowMs));
  return [
    ['name', key.name],
    ['id', key.id],
    ['key', key.preview],
    ...(group === undefined ? [] : [['in', `${GROUP_SIGN}${group.name}`] as const]),
    ...(key.mayCreate ? [['may create', 'keys under it'] as const] : []),
    ['state', stateCell(key.id, levels, look(), state.nowMs)],
    ['created', isoTime(key.createdAtMs)],
    ...(key.expiresAtMs === null ? [] : [['expires', isoTime(key.expiresAtMs)] as const]),
    ...TIER_NAMES.map((name) => [TIER_TERMS[name].label.toLowerCase(), limit(key[name], tier[name])] as const),
    ['monthly spend limit', key.spendLimitNanos === null ? 'none' : `${money(key.spendLimitNanos)} USD`],
    ...spends.map((spend) => budgetField(spend, state.nowMs, look())),
    ...(reached === undefined || !isTerminal() ? [] : [['forecast', reached] as const]),
    ...userLimitFields(key.userLimits),
    ['models', allowlistText(key.allowlist)],
    ['last used', lastUse === undefined ? 'never' : isoTime(lastUse)],
    monthField(month),
  ];
}

/** Keys with the figures by which they are shown and sorted. */
export interface KeyFigures {
  readonly months: ReadonlyMap<string, MonthFigures>;
  readonly levels: ReadonlyMap<string, SpendingLevel>;
}

async function figuresOf(keys: readonly KeyRecord[], state: State): Promise<KeyFigures> {
  return { months: await monthsOf(keys, state), levels: await spendingLevels(keys, state) };
}

export const KEY_ORDERS = ['name', 'cost', 'requests', 'tokens', 'spent'] as const;
export type KeyOrder = (typeof KEY_ORDERS)[number];

/** Sorts keys by name, by a figure of this month, or by the spent part of their tightest budget. */
export async function sortedKeys(
  keys: readonly KeyRecord[],
  order: KeyOrder,
  state: State,
): Promise<readonly KeyRecord[]> {
  if (order === 'name') return keys.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const { months, levels } = await figuresOf(keys, state);
  const figure = (key: KeyRecord) => {
    const { costNanos, requests, tokens } = months.get(key.id) ?? NO_FIGURES;
    const bound = tightest(levels.get(key.id)?.bounds ?? [], state.nowMs);
    return { cost: Number(costNanos), requests, tokens, spent: bound === undefined ? -1 : shareSpent(bound) }[order];
  };
  return keys.toSorted((a, b) => figure(b) - figure(a));
}

export async function printKeys(keys: readonly KeyRecord[], state: State): Promise<void> {
  printTable(keysTable(keys, await figuresOf(keys, state), state.config.tier, look(), state.nowMs));
  printNote('Requests, tokens and cost are for this month (UTC).');
}

export function keysTable(
  keys: readonly KeyRecord[],
  { months, levels }: KeyFigures,
  tier: Limits,
  look: Look,
  nowMs: number,
): Table {
  // Most installations have no groups, budgets or expiries.
  const hasGroups = keys.some(({ groupId }) => groupId !== null);
  const hasBudgets = keys.some(({ budgets }) => budgets.length > 0);
  const hasExpiries = keys.some(({ expiresAtMs }) => expiresAtMs !== null);
  return {
    columns: [
      { head: 'NAME', least: 12 },
      { head: 'ID', rank: 9 },
      { head: 'KEY', rank: 5 },
      ...(hasGroups ? [{ head: 'GROUP', least: 10, rank: 5 }] : []),
      STATE_COLUMN,
      ...Object.values(TIER_TERMS).map(
        ({ option, rank }) => ({ head: option.toUpperCase(), number: true, rank }) as const,
      ),
      { head: 'LIMIT (USD)', usd: true, rank: 2 },
      ...(hasBudgets ? [BUDGETS_COLUMN] : []),
      ...(hasExpiries ? [{ head: 'EXPIRES', rank: 7 }] : []),
      { head: 'REQUESTS', number: true, rank: 3 },
      { head: 'TOKENS', number: true, rank: 4 },
      { head: 'COST (USD)', usd: true, rank: 1 },
      { head: 'MODELS', least: 12, rank: 6 },
    ],
    rows: keys.map((key) => {
      const month = months.get(key.id) ?? NO_FIGURES;
      const spent = levels.get(key.id)?.spends ?? [];
      const { allowlist } = key;
      return [
        key.name,
        key.id,
        key.preview,
        ...(hasGroups ? [levels.get(key.groupId ?? '')?.record.name ?? '-'] : []),
        stateCell(key.id, levels, look, nowMs),
        ...TIER_NAMES.map((name) => count(key[name] ?? tier[name])),
        key.spendLimitNanos === null ? '-' : exactUsd(key.spendLimitNanos),
        ...(hasBudgets ? [budgetsCell(spent, look)] : []),
        ...(hasExpiries ? [key.expiresAtMs === null ? '-' : dateTime(key.expiresAtMs)] : []),
        count(month.requests),
        count(month.tokens),
        exactUsd(month.costNanos),
        allowlist === null || allowlist.length === 1 ? allowlistText(allowlist) : `${allowlist.length} models`,
      ];
    }),
  };
}

/** The JSON of the refusals of a key for one reason. */
export function refusalJson({ code, reason, requests, lastAtMs }: RefusalRow) {
  return { code, reason, requests, last_at: isoTime(lastAtMs) };
}

/** Prints how often a key was refused this month, by reason. */
export function printRefusals(refusals: readonly RefusalRow[]): void {
  if (refusals.length === 0) return printLine('No requests refused this month.', 'dim');
  printTable({
    columns: [
      { head: 'REFUSED THIS MONTH', least: 12 },
      { head: 'REASON', least: 10, rank: 1 },
      { head: 'REQUESTS', number: true },
      { head: 'LAST (UTC)', rank: 2 },
    ],
    rows: refusals.map((row) => [row.code, refusalReason(row) ?? '', count(row.requests), dateTime(row.lastAtMs)]),
  });
}

/** The number of keys whose names are compared with a mistyped one. */
const MOST_COMPARED = 10_000;

type Keys = Pick<State, 'keys'>;

/** Finds a key by id or name. Throws a UserError without one, or if the word names a group. */
export async function findKey(idOrName: string, { keys }: Keys, { withDeleted = false } = {}): Promise<KeyRecord> {
  if (namesGroup(idOrName)) {
    throw new UserError(
      `${JSON.stringify(idOrName)} names a group, and here it takes a key; \`${program()} keys list --group\` lists those of a group, ` +
        `and \`${program()} groups --help\` says what groups have`,
    );
  }
  const key = await (withDeleted ? keys.findWithDeleted(idOrName) : keys.find(idOrName));
  return key ?? changedKey({ kind: 'no_such_key' }, idOrName, { keys });
}

/** The key after a change. Throws a UserError if the change was impossible. */
export async function changedKey(change: KeyChange, idOrName: string, { keys }: Keys): Promise<KeyRecord> {
  if (change.kind === 'done') return change.key;
  const isUnknown = change.kind === 'no_such_key';
  const named = isUnknown ? await keys.list({ withDeleted: false, limit: MOST_COMPARED }) : [];
  const alike = mostAlike(
    idOrName,
    named.map(({ name }) => name),
  );
  throw new UserError(explainKeyChange(change, idOrName, alike));
}
