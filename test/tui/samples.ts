/**
 * Screens for tests: a few keys and models, a gateway that serves them, and a way to press keys.
 */
import { renderToString } from 'ink';
import { createElement } from 'react';
import type { Model as CatalogModel } from '../../src/catalog/catalog.ts';
import type { Snapshot, TrafficRow } from '../../src/control/protocol.ts';
import type { BudgetSpend } from '../../src/core/budgets.ts';
import { emptyHistogram, record } from '../../src/observe/histogram.ts';
import type { RequestRow } from '../../src/observe/worker-snapshot.ts';
import { spendBounds } from '../../src/operator/spending.ts';
import type { KeyRecord, LevelTerms, Owner } from '../../src/state/keys.ts';
import { type GroupRecord, NO_LEVEL_TERMS, termsOfUser, type UserRecord } from '../../src/state/levels.ts';
import type { UsageRow } from '../../src/state/usage.ts';
import { Dashboard } from '../../src/tui/components/dashboard.ts';
import type { Line } from '../../src/tui/draw/line.ts';
import {
  firstModel,
  type Model,
  type Stored,
  type StoredGroup,
  type StoredKey,
  type StoredUser,
  type View,
} from '../../src/tui/model.ts';
import type { Effect, Event } from '../../src/tui/update/step.ts';
import { update } from '../../src/tui/update/update.ts';
import { testModel } from '../support/models.ts';
import { ALONE } from '../support/state.ts';

/** 1 November 2026, noon. */
export const NOW_MS = Date.UTC(2026, 10, 1, 12);
const NOW_S = NOW_MS / 1_000;
const USD = 1_000_000_000n;

/** The id of the key with that number. */
export function keyId(number: number): string {
  return `key_${String(number).padStart(26, '0')}`;
}

const NO_TERMS = { allowlist: null, budgets: [], expiresAtMs: null };

/** `spends`: of its budgets. */
export function storedKey(
  number: number,
  name: string,
  more: Partial<KeyRecord> = {},
  month = {},
  spends: readonly BudgetSpend[] = [],
): StoredKey {
  const figures = { requests: 0, tokens: 0, costNanos: 0n, ...month };
  const own = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, ...NO_TERMS };
  const preview = `sk-inf-…${String(number).padStart(4, 'x')}`;
  const createdAtMs = NOW_MS - number * 86_400_000;
  return {
    record: { id: keyId(number), name, preview, state: 'enabled', createdAtMs, ...own, ...ALONE, ...more },
    limits: {
      rpm: more.rpm ?? 600,
      tpm: more.tpm ?? 2_000_000,
      concurrency: more.concurrency ?? 60,
      modelsRpm: 6_000,
    },
    month: figures,
    bounds: boundsOf({ spendLimitNanos: more.spendLimitNanos ?? null }, figures.costNanos, spends),
    lastUsedMs: NOW_MS - number * 60_000,
  };
}

/** The id of the group with that number. */
export function groupId(number: number): string {
  return `grp_${String(number).padStart(26, '0')}`;
}

/** `spends`: of its budgets. */
export function storedGroup(
  number: number,
  name: string,
  more: Partial<GroupRecord> = {},
  month = {},
  spends: readonly BudgetSpend[] = [],
): StoredGroup {
  const figures = { requests: 0, tokens: 0, costNanos: 0n, ...month };
  const own = { ...NO_LEVEL_TERMS, state: 'enabled', allowlist: null, groupId: null, userLimits: null } as const;
  const record = { id: groupId(number), name, createdAtMs: NOW_MS - number * 86_400_000, ...own, ...more };
  return { record, keys: 0, month: figures, bounds: boundsOf(record, figures.costNanos, spends) };
}

/** `own`: what is set for them alone; `spends`: of their budgets. */
export function storedUser(
  owner: Owner,
  name: string,
  own?: Partial<UserRecord>,
  month = {},
  spends: readonly BudgetSpend[] = [],
): StoredUser {
  const record = own && { ...NO_LEVEL_TERMS, ownerId: owner.id, name, state: 'enabled' as const, ...own };
  const terms = termsOfUser(owner.userLimits ?? NO_LEVEL_TERMS, record);
  const figures = { requests: 0, tokens: 0, costNanos: 0n, ...month };
  return {
    owner,
    name,
    own: record,
    terms,
    spends,
    month: figures,
    bounds: boundsOf(terms, figures.costNanos, spends),
  };
}

function boundsOf(
  { spendLimitNanos }: Pick<LevelTerms, 'spendLimitNanos'>,
  monthNanos: bigint,
  spends: readonly BudgetSpend[],
) {
  return spendBounds(spendLimitNanos, monthNanos, spends, NOW_MS);
}

const KEYS: readonly StoredKey[] = [
  storedKey(
    1,
    'web-app',
    { spendLimitNanos: 20n * USD },
    { requests: 12_345, tokens: 4_567_890, costNanos: 17n * USD },
  ),
  storedKey(2, 'batch-jobs', { rpm: 60, tpm: 100_000 }, { requests: 321, tokens: 98_765, costNanos: 1_230_000_000n }),
  storedKey(
    3,
    'laptop',
    { state: 'disabled', allowlist: ['mock/echo'] },
    { requests: 7, tokens: 90, costNanos: 1_500n },
  ),
];

const MODELS: readonly CatalogModel[] = [
  testModel('openai/gpt-4o-mini', { input: 150_000_000n, cachedInput: 75_000_000n, output: 600_000_000n }),
  testModel('openai/fast', { upstream: 'gpt-4.1-nano', input: 100_000_000n, output: 400_000_000n }),
  testModel('claude/large', { input: 3n * USD, cachedInput: 300_000_000n, output: 15n * USD, active: false }),
  testModel('mock/echo'),
];

export function usageRow(row: Partial<UsageRow>): UsageRow {
  const names = { key: undefined, keyId: undefined, model: undefined, day: undefined, month: undefined };
  const figures = { requests: 0, errors: 0, promptTokens: 0, completionTokens: 0, costNanos: 0n };
  const caches = { cachedTokens: 0, cacheWriteTokens: 0 };
  return { ...names, source: undefined, ...figures, ...caches, ...row };
}

export const STORED: Stored = {
  statePath: '/var/lib/inf-gw/inf-gw.db',
  configPath: '/etc/inf-gw/config.yaml',
  origin: 'http://127.0.0.1:8787',
  tierName: 'standard',
  creditEnforced: true,
  balanceNanos: 81_770_000_000n,
  heldNanos: 12_000_000n,
  week: { costNanos: 14n * USD, spanMs: 7 * 86_400_000 },
  keys: KEYS,
  groups: [storedGroup(1, 'research', {}, { requests: 12, costNanos: 3n * USD })],
  models: MODELS,
  modelUsage: new Map([
    ['openai/gpt-4o-mini', usageRow({ model: 'openai/gpt-4o-mini', requests: 12_000 })],
    ['mock/echo', usageRow({ model: 'mock/echo', requests: 3 })],
  ]),
};

export function second(atS: number, figures: Partial<TrafficRow> = {}): TrafficRow {
  return { at_s: atS, requests: 1, tokens: 100, cost_usd: '0.001000', errors: {}, first_byte: [], ...figures };
}

/** Seconds of traffic, and the minutes that they make. */
export function traffic(seconds: readonly TrafficRow[]): Pick<Snapshot, 'seconds' | 'minutes'> {
  const minutes = new Map<number, TrafficRow>();
  for (const row of seconds) {
    const atS = Math.floor(row.at_s / 60) * 60;
    const sum = Number(minutes.get(atS)?.cost_usd ?? 0) + Number(row.cost_usd);
    minutes.set(atS, { ...row, at_s: atS, cost_usd: sum.toFixed(6) });
  }
  return { seconds: [...seconds], minutes: [...minutes.values()] };
}

/** Four minutes of traffic that rises and falls, with errors every 20 seconds. */
function seconds(): TrafficRow[] {
  return Array.from({ length: 240 }, (_, index) => {
    const requests = 5 + Math.round(4 * Math.sin(index / 9));
    const firstByte = emptyHistogram();
    for (let each = 0; each < requests; each++) record(firstByte, each === 8 ? 900 : 120);
    const errors: Record<string, number> = index % 20 === 0 ? { rate_limited: 2, upstream_error: 1 } : {};
    return second(NOW_S - 240 + index, {
      requests,
      tokens: requests * 350,
      cost_usd: '0.000200',
      errors,
      first_byte: firstByte,
    });
  });
}

export function requestRow(number: number, more: Partial<RequestRow> = {}): RequestRow {
  return {
    id: `req_${String(number).padStart(26, '0')}`,
    key_id: keyId(1),
    model: 'openai/gpt-4o-mini',
    provider: 'openai',
    stream: true,
    admitted_at_ms: NOW_MS - number * 1_000,
    source: 'counted',
    first_byte_ms: 130,
    prompt_tokens: 1_234,
    completion_tokens: 56,
    cost_usd: '0.000219',
    ...more,
  };
}

/** A request that ended `number` seconds ago. */
export function endedRow(number: number, outcome: string, more: Partial<RequestRow> = {}): RequestRow {
  const times = { admitted_at_ms: NOW_MS - number * 1_000 - 2_500, ended_at_ms: NOW_MS - number * 1_000 };
  return requestRow(number, { ...times, outcome, source: 'reported', ...more });
}

export const SNAPSHOT: Snapshot = {
  version: '0.1.0',
  earlier: null,
  pid: 4_242,
  started_at_ms: NOW_MS - 93_784_000,
  now_ms: NOW_MS,
  address: '127.0.0.1:8787',
  tls: null,
  threads: 1,
  config_path: '/etc/inf-gw/config.yaml',
  state_path: STORED.statePath,
  state_bytes: 5_000_000,
  log_bytes: 40_000,
  memory_bytes: 90_000_000,
  open_files: { limit: 65_536, room: 8192 },
  draining: false,
  storage_fault: null,
  credit_enforced: true,
  balance_usd: '81.77',
  held_usd: '0.012000',
  in_flight: 2,
  loop_delay_ms: { p50: 0, p99: 3, max: 9 },
  skipped: [],
  upstreams: [
    {
      provider: 'openai',
      upstream: 'openai',
      state: 'closed',
      in_flight: 2,
      requests: 310,
      failures: 0,
      last_failure: null,
      causes: [],
    },
    {
      provider: 'claude',
      upstream: 'claude',
      state: 'closed',
      in_flight: 0,
      requests: 4,
      failures: 4,
      last_failure: { at_ms: NOW_MS, message: 'refused' },
      causes: [],
    },
  ],
  ...traffic(seconds()),
  busiest: [
    { id: keyId(1), requests: 480, tokens: 1_510_000, open: 2, usd_per_min: '0.00', refused: 0, history: [] },
    { id: keyId(2), requests: 59, tokens: 20_000, open: 0, usd_per_min: '0.00', refused: 0, history: [] },
  ],
  keys: [{ id: keyId(3), requests: 1, tokens: 90, open: 0, usd_per_min: '0.00', refused: 0, history: [] }],
  live: [requestRow(75), requestRow(4, { key_id: keyId(2), stream: false, source: 'counted' })],
  recent: [
    endedRow(40, 'rate_limited', { provider: '', prompt_tokens: 0, completion_tokens: 0, cost_usd: '0.00' }),
    endedRow(12, 'upstream_error', { model: 'claude/large', provider: 'claude' }),
    endedRow(3, 'ok'),
  ],
};

export const SIZE = { columns: 80, rows: 24 };

/** The screen without a gateway. */
export function alone(view: View = 'overview', stored = STORED, size = SIZE): Model {
  return { ...firstModel(stored, size, NOW_MS), isConnecting: false, view };
}

/** The screen with a gateway and figures for the Usage view. */
export function serving(view: View = 'overview', snapshot = SNAPSHOT, size = SIZE): Model {
  return after(alone(view, STORED, size), { kind: 'snapshot', snapshot }, { kind: 'usage', rows: USAGE });
}

export const USAGE: readonly UsageRow[] = KEYS.map(({ record: { name, id }, month: { requests, costNanos } }) =>
  usageRow({
    key: name,
    keyId: id,
    requests,
    errors: requests > 100 ? 5 : 0,
    promptTokens: requests * 300,
    completionTokens: requests * 70,
    costNanos,
  }),
);

/** The screen after these events. Their effects are dropped. */
export function after(model: Model, ...events: readonly Event[]): Model {
  return events.reduce((last, event) => update(last, event).model, model);
}

export interface Pressed {
  readonly model: Model;
  /** The effects of all keys, in order. */
  readonly effects: readonly Effect[];
}

/** The screen after these key presses, and their effects. */
export function press(model: Model, ...keys: readonly string[]): Pressed {
  return keys.reduce<Pressed>(
    (last, key) => {
      const { model: next, effects } = update(last.model, { kind: 'key', key });
      return { model: next, effects: [...last.effects, ...effects] };
    },
    { model, effects: [] },
  );
}

/** The key presses that type a text. */
export function letters(text: string): string[] {
  return [...text];
}

export function textOf(line: Line): string {
  return line.map(({ text }) => text).join('');
}

/** The screen as text, without trailing spaces. */
export function screenText(model: Model): string {
  return renderToString(createElement(Dashboard, { model }), { columns: model.columns });
}
