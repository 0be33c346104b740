/** Converts rows of the tables to records. Both stores return integers as bigints. Pure. */
import { type Budget, shownTime, sortedBudgets } from '../core/budgets.ts';
import type { Failure, FailureReason } from '../core/failure.ts';
import type { Outcome } from '../core/settlement.ts';
import { NAME_KINDS } from '../core/spent-by.ts';
import type { UsageSource } from '../core/usage.ts';
import type { CreditEntry } from './account.ts';
import type { HistoryRow, HistorySlice } from './history.ts';
import type { KeyRecord, KeyState, LevelTerms, Owner, UserLimits } from './keys.ts';
import { type GroupRecord, type UserRecord, userStoredAs } from './levels.ts';
import { withinBound } from './names.ts';
import type { JournalPlace, RequestEnd, RequestRecord } from './requests.ts';
import type { MonthFigures, RefusalRow, UsageGroup, UsageRow } from './usage.ts';

export type Row = Readonly<Record<string, bigint | string | null>>;

/** Parses a row of keys. The allowlist and the budgets are JSON arrays as text; budgets have `period` and `limit`. */
export function keyOf(row: Row): KeyRecord {
  return {
    ...ownerOf(row),
    ...termsOf(row),
    preview: row.preview as string,
    expiresAtMs: numberIn(row.expires_at_ms) ?? null,
    parentId: (row.parent_id ?? null) as string | null,
    mayCreate: row.may_create === 1n,
    isLeashed: row.is_leashed === 1n,
  };
}

/** Parses a row of groups. */
export function groupOf(row: Row): GroupRecord {
  return { ...ownerOf(row), ...termsOf(row) };
}

/** Parses a row of users. */
export function userOf(row: Row): UserRecord {
  const name = userStoredAs(row.name as string);
  return { ownerId: row.owner_id as string, name, state: row.state as UserRecord['state'], ...termsOf(row) };
}

function ownerOf(row: Row): Owner {
  return {
    id: row.id as string,
    name: row.name as string,
    state: row.state as KeyState,
    allowlist: row.allowlist === null ? null : (JSON.parse(row.allowlist as string) as string[]),
    groupId: (row.group_id ?? null) as string | null,
    userLimits: userLimitsOf(row.user_limits),
    createdAtMs: Number(row.created_at_ms),
  };
}

function termsOf(row: Row): LevelTerms {
  return {
    rpm: numberIn(row.rpm) ?? null,
    tpm: numberIn(row.tpm) ?? null,
    concurrency: numberIn(row.concurrency) ?? null,
    spendLimitNanos: row.spend_limit_nanos as bigint | null,
    budgets: budgetsOf(row.budgets),
  };
}

/** Parses the JSON object with the limits for all end users. */
function userLimitsOf(json: Row[string] | undefined): UserLimits | null {
  if (typeof json !== 'string') return null;
  const { rpm, tpm, concurrency, spend_limit: limit, budgets, required } = JSON.parse(json) as StoredUserLimits;
  const spendLimitNanos = limit === null ? null : BigInt(limit);
  return { rpm, tpm, concurrency, spendLimitNanos, budgets: budgetsOf(budgets), required: required === 1 };
}

interface StoredUserLimits {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
  readonly spend_limit: string | null;
  readonly budgets: string | null;
  readonly required: number;
}

/** Shared by all records without budgets: up to 100,000 may be in memory. */
const NO_BUDGETS: readonly Budget[] = [];

/** Limits are strings: they may exceed the range of JSON numbers. */
function budgetsOf(json: Row[string] | undefined): readonly Budget[] {
  if (typeof json !== 'string' || json === '[]') return NO_BUDGETS;
  const stored = JSON.parse(json) as { period: string; limit: string }[];
  return sortedBudgets(stored.map(({ period, limit }) => ({ period, limitNanos: BigInt(limit) })));
}

/** The stored form of an allowlist: a JSON array without duplicates. */
export function storedAllowlist(models: readonly string[] | null): string | null {
  return models === null ? null : JSON.stringify([...new Set(models)]);
}

export function creditEntryOf(row: Row): CreditEntry {
  return {
    atMs: Number(row.at_ms),
    amountNanos: row.amount_nanos as bigint,
    balanceNanos: row.balance_nanos as bigint,
    note: row.note as string,
  };
}

/** Parses a row of the journal or of holds, with the name of the key as `key`. */
export function requestOf(row: Row): RequestRecord {
  return {
    id: row.request_id as string,
    keyId: row.key_id as string,
    key: row.key as string,
    model: row.model as string,
    requestedModel: (row.requested_model ?? row.model) as string,
    admittedAtMs: Number(row.admitted_at_ms),
    holdNanos: row.hold_nanos as bigint,
    ...(typeof row.price === 'string' && { price: row.price }),
    ...(typeof row.node === 'string' && { node: row.node }),
    ...(typeof row.levels === 'string' && { levels: JSON.parse(row.levels) as string[] }),
    end: row.settled_at_ms === undefined ? undefined : endOf(row),
  };
}

/** The position of a journal row. */
export function placeOf(row: Row): JournalPlace {
  return { admittedAtMs: Number(row.admitted_at_ms), row: row.id as bigint };
}

/** Converts journal rows to chart rows. The rows are in the order of {@link History.slice}. */
export function historyOf(rows: readonly Row[], limit: number): HistorySlice {
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    // `own` is null for rows of another gateway, and undefined in SQLite.
    rows: rows.filter(({ own }) => own !== null).map(historyRowOf),
    next: last && placeOf(last),
  };
}

function historyRowOf(row: Row): HistoryRow {
  return {
    settledAtMs: Number(row.settled_at_ms),
    outcome: row.outcome as Outcome,
    tokens: Number(row.tokens),
    costNanos: row.cost_nanos as bigint,
    firstByteMs: numberIn(row.first_byte_ms),
  };
}

function endOf(row: Row): RequestEnd {
  return {
    settledAtMs: Number(row.settled_at_ms),
    outcome: row.outcome as Outcome,
    source: row.source as UsageSource,
    promptTokens: Number(row.prompt_tokens),
    cachedTokens: Number(row.cached_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    completionTokens: Number(row.completion_tokens),
    costNanos: row.cost_nanos as bigint,
    completionId: (row.completion_id ?? undefined) as string | undefined,
    firstByteMs: numberIn(row.first_byte_ms),
    upstream: (row.upstream ?? undefined) as string | undefined,
    attempts: numberIn(row.attempts),
    failure: failureOf(row),
    ...spentByOf(row),
    correctedAtMs: numberIn(row.corrected_at_ms),
  };
}

function spentByOf({ by_user: user, by_tag: tag, by_app: app }: Row): Pick<RequestEnd, 'spentBy'> {
  const text = (value: Row[string] | undefined) => (typeof value === 'string' ? value : '');
  const spentBy = { user: text(user), tag: text(tag), app: text(app) };
  return NAME_KINDS.some((kind) => spentBy[kind] !== '') ? { spentBy } : {};
}

function failureOf(row: Row): Failure | undefined {
  const { failure_reason: reason, failure_status: status, failure_message: message } = row;
  if (typeof reason !== 'string') return undefined;
  return { reason: reason as FailureReason, status: numberIn(status), message: message as string };
}

/** Parses the rows of a report. */
export function usageRowsOf(rows: readonly Row[], groups: readonly UsageGroup[]): readonly UsageRow[] {
  return withinBound(rows.map(usageRowOf), groups);
}

function usageRowOf(row: Row): UsageRow {
  const text = (value: Row[string] | undefined) => (typeof value === 'string' ? value : undefined);
  return {
    key: text(row.key),
    keyId: text(row.key_id),
    model: text(row.model),
    group: text(row.group_name),
    groupId: text(row.level_id),
    ...(typeof row.hour_ms === 'bigint' && { hour: shownTime(Number(row.hour_ms)) }),
    day: text(row.day),
    month: text(row.month),
    source: text(row.source),
    user: text(row.user),
    tag: text(row.tag),
    app: text(row.app),
    requests: Number(row.requests),
    errors: Number(row.errors),
    promptTokens: Number(row.prompt_tokens),
    cachedTokens: Number(row.cached_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    completionTokens: Number(row.completion_tokens),
    costNanos: row.cost_nanos as bigint,
  };
}

export function monthFiguresOf(row: Row): MonthFigures {
  return { requests: Number(row.requests), tokens: Number(row.tokens), costNanos: row.cost_nanos as bigint };
}

export function refusalOf(row: Row): RefusalRow {
  return {
    code: row.code as string,
    reason: row.reason as string,
    requests: Number(row.requests),
    lastAtMs: Number(row.last_at_ms),
  };
}

function numberIn(value: Row[string] | undefined): number | undefined {
  return typeof value === 'bigint' ? Number(value) : undefined;
}
