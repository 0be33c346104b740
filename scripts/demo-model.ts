/** A made-up gateway with some traffic, as the dashboard would see it. */
import type { SecondRow, Snapshot } from '../src/control/protocol.ts';
import { formatUsd, NANOS_PER_USD } from '../src/core/money.ts';
import { emptyHistogram, record } from '../src/live/histogram.ts';
import { firstModel, type Model, type StoredKey } from '../src/tui/model.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 14, 30);
const HISTORY_S = 120;

const KEYS: readonly (readonly [name: string, rpm: number, requests: number, open: number])[] = [
  ['web-shop', 1200, 1104, 14],
  ['support-bot', 600, 412, 9],
  ['search', 600, 277, 3],
  ['nightly-reports', 120, 64, 2],
  ['staging', 60, 12, 0],
  ['laptop-anna', 60, 3, 1],
];

function key([name, rpm, requests]: (typeof KEYS)[number], index: number): StoredKey {
  const costNanos = BigInt(requests) * 31n * 41_000_000n;
  return {
    record: {
      id: `key_01jd${String(index).padStart(22, '0')}`,
      name,
      preview: `sk-inf-…${(7_919 * (index + 3)).toString(36).slice(-4)}`,
      state: 'enabled',
      rpm,
      tpm: null,
      concurrency: null,
      spendLimitNanos: index < 3 ? 500n * NANOS_PER_USD : null,
      allowlist: null,
      createdAtMs: NOW_MS - index * 86_400_000,
    },
    limits: { rpm, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000 },
    month: { requests: requests * 31, tokens: requests * 31 * 1_400, costNanos },
  };
}

/** Waves with some noise, the same each time. */
function second(index: number): SecondRow {
  const noise = ((index * 7_919) % 97) / 97;
  const requests = Math.round(24 + 9 * Math.sin(index / 9) + 6 * Math.sin(index / 2.3) + 6 * noise);
  const histogram = emptyHistogram();
  for (let i = 0; i < requests; i++) record(histogram, 180 + ((i * 131 + index * 17) % 420));
  return {
    at_s: NOW_MS / 1000 - HISTORY_S + index,
    requests,
    tokens: Math.round(requests * (1_150 + 500 * Math.sin(index / 14))),
    cost_usd: formatUsd(BigInt(requests) * 1_900_000n),
    errors: index % 41 === 0 ? { upstream_error: 1 } : index % 29 === 0 ? { rate_limited: 2 } : {},
    first_byte: histogram,
  };
}

function snapshot(keys: readonly StoredKey[], seconds: readonly SecondRow[]): Snapshot {
  const activity = KEYS.map(([, , requests, open], index) => ({
    id: keys[index]?.record.id ?? '',
    requests,
    tokens: requests * 1_400,
    open,
  }));
  return {
    version: '0.1.0',
    pid: 4_711,
    started_at_ms: NOW_MS - 3 * 86_400_000 - 7_440_000,
    now_ms: NOW_MS,
    address: '127.0.0.1:8787',
    threads: 1,
    config_path: '/etc/inf-gw/config.yaml',
    state_path: '/var/lib/inf-gw/inf-gw.db',
    state_bytes: 84_000_000,
    log_bytes: 16_000_000,
    memory_bytes: 140_000_000,
    draining: false,
    storage_fault: null,
    credit_enforced: true,
    balance_usd: '412.38',
    held_usd: '0.412000',
    in_flight: 29,
    loop_delay_ms: { p50: 0, p99: 2, max: 7 },
    upstreams: [
      {
        provider: 'anthropic',
        upstream: 'anthropic',
        state: 'closed',
        in_flight: 11,
        requests: 502,
        failures: 0,
        last_failure: null,
      },
      {
        provider: 'groq',
        upstream: 'groq',
        state: 'closed',
        in_flight: 2,
        requests: 214,
        failures: 3,
        last_failure: { at_ms: NOW_MS, message: 'answered 429' },
      },
      {
        provider: 'openai',
        upstream: 'openai',
        state: 'closed',
        in_flight: 16,
        requests: 733,
        failures: 0,
        last_failure: null,
      },
    ],
    seconds,
    busiest: activity,
    keys: activity,
    live: [],
    recent: [],
  };
}

export function demoModel(): Model {
  const keys = KEYS.map(key);
  const seconds = Array.from({ length: HISTORY_S }, (_, index) => second(index));
  const stored = {
    statePath: '/var/lib/inf-gw/inf-gw.db',
    tierName: 'standard',
    creditEnforced: true,
    balanceNanos: 412_380_000_000n,
    heldNanos: 412_000_000n,
    keys,
    models: [],
    modelUsage: new Map(),
  };
  const model = firstModel(stored, { columns: 100, rows: 30 }, NOW_MS);
  return { ...model, snapshot: snapshot(keys, seconds), wasConnected: true, seconds };
}
