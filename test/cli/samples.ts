/** What commands print on terminals of any width, from figures that are the same on every run. */
import { historyTable } from '../../src/cli/credit.ts';
import { type KeyFigures, keysTable } from '../../src/cli/key-view.ts';
import { modelsTable } from '../../src/cli/models.ts';
import { refusedTable, requestsTable } from '../../src/cli/requests.ts';
import { statusLines } from '../../src/cli/status-view.ts';
import { usageTable } from '../../src/cli/usage.ts';
import { chartLines } from '../../src/cli/usage-plot.ts';
import type { Snapshot, TrafficRow } from '../../src/control/protocol.ts';
import type { Budget, BudgetSpend } from '../../src/core/budgets.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Refusal } from '../../src/observe/refusals.ts';
import { type CostHistory, historySpan } from '../../src/operator/cost-history.ts';
import type { SpendingLevel } from '../../src/operator/level-figures.ts';
import { type Look, tableLines } from '../../src/operator/table.ts';
import type { KeyRecord } from '../../src/state/keys.ts';
import { type GroupRecord, NO_LEVEL_TERMS } from '../../src/state/levels.ts';
import type { RequestRecord } from '../../src/state/requests.ts';
import type { MonthFigures, UsageRow } from '../../src/state/usage.ts';
import { ALONE } from '../support/state.ts';

export const WIDTHS = [40, 60, 80, 120] as const;
const NOW_MS = Date.UTC(2026, 10, 22, 12);
const TIER = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000 };
const NAMES = ['app', 'support-staging-europe-west-155', '日本語のとても長い名前のキー', '🚀 rocket', 'x'.repeat(64)];

const DAY = { period: 'day', limitNanos: 2_000_000_000n };
const GROUP: GroupRecord = {
  ...{ ...NO_LEVEL_TERMS, id: 'grp_nlp', name: 'nlp', groupId: null, state: 'enabled', allowlist: null },
  ...{ userLimits: null, createdAtMs: 0 },
};
/** Of each fifth key. */
const BUDGETS: readonly (readonly Budget[])[] = [
  [DAY],
  [],
  [],
  [DAY, { period: 'total', limitNanos: 100_000_000_000n }],
];

/** A terminal without colours, or with the tones in angle brackets. */
export function lookAt(room: number | undefined, isPainted = false): Look {
  return { room, paint: (text, style) => (isPainted ? `<${style}>${text}</>` : text) };
}

export function keyRecords(count: number): KeyRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `key_01m810bas1kw7hv05rc3j${String(i).padStart(5, '0')}`,
    name: `${NAMES[i % NAMES.length]}${i < NAMES.length ? '' : `-${i}`}`,
    preview: 'sk-inf-…fLd8',
    state: i % 5 === 2 ? 'disabled' : i % 5 === 4 ? 'deleted' : 'enabled',
    rpm: i % 5 === 1 ? 600_000 : null,
    tpm: null,
    concurrency: null,
    spendLimitNanos: i % 5 === 1 ? 5_000_000_000n : null,
    allowlist: i % 5 === 0 ? ['mock/paid', 'mock/echo'] : null,
    budgets: BUDGETS[i % 5] ?? [],
    expiresAtMs: null,
    ...ALONE,
    ...(i === 1 && { groupId: GROUP.id }),
    createdAtMs: NOW_MS,
  }));
}

function figuresOf(keys: readonly KeyRecord[]): KeyFigures {
  const months: [string, MonthFigures][] = keys.map(({ id }, i) => [
    id,
    { requests: 40 * i, tokens: 3_902_000 * i, costNanos: BigInt(i) ** 5n * 1_234_567n },
  ]);
  // The first key has spent its daily budget. The second one is in a group that has spent its own.
  const bound = (budget: Budget, chargedNanos: bigint): BudgetSpend => {
    const midnightMs = NOW_MS + DAY_MS / 2;
    return { ...budget, chargedNanos, freesAtMs: midnightMs, resetsAtMs: midnightMs };
  };
  const levels = keys.map((record, i): SpendingLevel => {
    const isReached = ({ period }: Budget) => i === 0 && period === 'day';
    const spends = record.budgets.map((each) => bound(each, isReached(each) ? each.limitNanos : 1_250_000_000n));
    return { record, spends, bounds: spends };
  });
  const group = { record: { ...GROUP, budgets: [DAY] }, bounds: [bound(DAY, DAY.limitNanos)], spends: [] };
  return { months: new Map(months), levels: new Map([...levels, group].map((each) => [each.record.id, each])) };
}

export function usageRows(count: number): UsageRow[] {
  return keyRecords(count).map((key, i) => ({
    key: key.name,
    keyId: key.id,
    model: undefined,
    day: undefined,
    month: undefined,
    source: undefined,
    requests: 40 * (count - i),
    errors: i,
    promptTokens: 3_900_000,
    cachedTokens: i === 0 ? 1_000 : 0,
    cacheWriteTokens: 0,
    completionTokens: 2_000,
    costNanos: BigInt(count - 1 - i) ** 4n * 123_456_789n,
  }));
}

export function requestRecords(count: number): RequestRecord[] {
  return keyRecords(count).map((key, i) => ({
    id: `req_06fbv3k2m9d8s7a6q5w4e3${String(i).padStart(4, '0')}`,
    key: key.name,
    keyId: key.id,
    model: 'openrouter/meta-llama-3.1-405b-instruct',
    requestedModel: 'openrouter/meta-llama-3.1-405b-instruct',
    admittedAtMs: NOW_MS - i * 3_600_000,
    holdNanos: 1n,
    end: {
      settledAtMs: NOW_MS - i * 3_600_000 + 1_500,
      upstream: 'openrouter',
      attempts: 1,
      outcome: i === 0 ? 'upstream_error' : i === 1 ? 'cancelled' : 'ok',
      source: 'reported',
      firstByteMs: 12,
      promptTokens: 1_000 * i,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      completionTokens: 50,
      costNanos: BigInt(i) ** 8n * 4_567n,
      completionId: undefined,
      correctedAtMs: undefined,
      failure:
        i === 0
          ? { reason: 'http_status', status: 401, message: 'the provider answered with status 401: Incorrect API key' }
          : undefined,
    },
  }));
}

const MODELS = [
  ['mock/echo', '0.00', '0.00', '0.00', true],
  ['openrouter/meta-llama-3.1-405b-instruct', '0.075000', '0.037500', '2.50', false],
  ['vertex/gemini', '1.25', '0.312500', '10.00', true],
] as const;

const REFUSED = [
  ['spend_limit_reached', 'spend_limit_reached', '2.00 USD/day spent, again at 2026-11-23T00:00:00Z'],
  ['rate_limited', 'requests_per_minute', '600 requests/min, again in 7 s'],
] as const;

function refusals(): Refusal[] {
  return REFUSED.map(([code, reason, cause], i) => ({
    id: `req_06fbv3k2m9d8s7a6q5w4e3000${i}`,
    at_ms: NOW_MS - i * 1_000,
    key_id: NAMES[i] ?? '',
    model: 'openai/gpt-4o-mini',
    ...{ code, reason, cause },
    user: 'anna',
    app: '',
  }));
}

function second(agoS: number, costUsd: string, errors: Readonly<Record<string, number>> = {}): TrafficRow {
  return { at_s: NOW_MS / 1_000 - agoS, requests: 15, tokens: 1_200, cost_usd: costUsd, errors, first_byte: [] };
}

function minute(agoMin: number, costUsd: string): TrafficRow {
  return { ...second(0, costUsd), at_s: NOW_MS / 1_000 - 60 * agoMin };
}

/** A gateway, well, or with everything wrong that can be. */
function snapshotOf(isWell: boolean): Snapshot {
  const upstream = { provider: 'mock', in_flight: 3, requests: 900, last_failure: null, causes: [] };
  const failure = { at_ms: NOW_MS, message: 'connect ECONNREFUSED 127.0.0.1:1, after 3 attempts' };
  return {
    version: '0.1.0',
    pid: 4711,
    started_at_ms: NOW_MS - 3 * DAY_MS,
    now_ms: NOW_MS,
    address: '127.0.0.1:8080',
    tls: null,
    threads: 2,
    config_path: '/etc/inf-gw/config.yaml',
    state_path: '/var/lib/inf-gw/a-folder-with-a-long-name/state.db',
    state_bytes: 123_456_789,
    log_bytes: 4_096,
    memory_bytes: 123_456_789,
    open_files: { limit: 65_536, room: 8192 },
    draining: false,
    earlier: null,
    storage_fault: isWell ? null : 'the disk is full',
    credit_enforced: true,
    balance_usd: isWell ? '1234.567891' : '2.32',
    held_usd: isWell ? '0.50' : '2.24',
    in_flight: 3,
    loop_delay_ms: { p50: 1, p99: 12, max: 40 },
    upstreams: [
      { ...upstream, upstream: 'mock', state: 'closed', failures: 0 },
      ...(isWell
        ? []
        : ([
            {
              ...upstream,
              upstream: 'flapping#2',
              state: 'half_open',
              failures: 17,
              last_failure: failure,
              causes: [],
            },
            { ...upstream, upstream: 'dead', state: 'open', failures: 900, last_failure: failure, causes: [] },
          ] as const)),
    ],
    skipped: isWell ? [] : [{ name: 'openrouter', missing_variable: 'OPENROUTER_API_KEY' }],
    seconds: [second(30, '0.01'), second(3, '0.02', isWell ? {} : { insufficient_credit: 47 })],
    minutes: [minute(5, '0.30')],
    busiest: [],
    keys: [],
    live: [],
    recent: [],
  };
}

const WEEK = { costNanos: 70_000_000_000n, spanMs: 6.5 * DAY_MS };

/** A day of work, and a burn in its last hours. */
const HISTORY: CostHistory = {
  span: historySpan(NOW_MS - DAY_MS, NOW_MS),
  costs: [0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 9, 9, 8, 1].map(
    (usd) => BigInt(usd) * 1_250_000_000n,
  ),
  earlier: [0, 0, 2, 3, 4, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 4, 3, 3].map(
    (usd) => BigInt(usd) * 1_250_000_000n,
  ),
  droppedDays: [],
};

/** What each command prints. */
export const PICTURES = {
  'keys list': (look, count = 5) => {
    const keys = keyRecords(count);
    return tableLines(keysTable(keys, figuresOf(keys), TIER, look, NOW_MS), look);
  },
  'usage --by key': (look, count = 5) => tableLines(usageTable(usageRows(count), ['key'], look), look),
  'usage --chart': (look) => chartLines(HISTORY, ['support-staging-europe-west-155'], look),
  'requests list': (look, count = 5) => tableLines(requestsTable(requestRecords(count), false, look), look),
  models: (look) => {
    const rows = MODELS.map(([id, input_usd, cached_input_usd, output_usd, active]) => {
      const [provider = '', upstream = ''] = id.split('/');
      return { id, provider, upstream, input_usd, cached_input_usd, output_usd, active };
    });
    return tableLines(modelsTable(rows, look), look);
  },
  'credit history': (look) => {
    const entry = {
      atMs: NOW_MS,
      amountNanos: 25_000_000_000n,
      balanceNanos: 25_000_000_000n,
      note: 'invoice 2026-11',
    };
    const less = { atMs: NOW_MS + 1, amountNanos: -150_000n, balanceNanos: 24_999_850_000n, note: '' };
    return tableLines(historyTable([entry, less], look), look);
  },
  'requests list --refused': (look) =>
    tableLines(
      refusedTable(refusals(), (name) => name, look),
      look,
    ),
  'status, all well': (look) =>
    statusLines(snapshotOf(true), { isShared: false, shared: undefined, spent: undefined, week: WEEK }, look),
  'status, all wrong': (look) =>
    statusLines(snapshotOf(false), { isShared: false, shared: undefined, spent: undefined, week: WEEK }, look),
} satisfies Readonly<Record<string, (look: Look, count?: number) => string[]>>;

/** All pictures, as `pictures.txt` has them. To draw them again: `node test/cli/draw-pictures.ts`. */
export function drawPictures(): string {
  const drawn = Object.entries(PICTURES).flatMap(([name, draw]) =>
    WIDTHS.flatMap((width) => [`== inf-gw ${name}, on ${width} columns ==`, ...draw(lookAt(width)), '']),
  );
  return drawn.join('\n');
}
