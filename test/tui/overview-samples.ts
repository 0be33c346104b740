/** A gateway with five minutes of traffic, on a good day and on a bad one. */
import type { KeyActivityRow, Snapshot, TrafficRow } from '../../src/control/protocol.ts';
import { formatUsd } from '../../src/core/money.ts';
import { emptyHistogram, record } from '../../src/observe/histogram.ts';
import type { UpstreamHealth } from '../../src/observe/worker-snapshot.ts';
import type { Model, Stored } from '../../src/tui/model.ts';
import { after, alone, keyId, NOW_MS, SNAPSHOT, STORED, second, storedKey, traffic, usageRow } from './samples.ts';

const NOW_S = NOW_MS / 1_000;
const HISTORY_S = 300;
const USD = 1_000_000_000n;

/** Waves of requests; on a bad day the first bytes become late, and then most requests fail. */
function seconds(isBad: boolean): TrafficRow[] {
  return Array.from({ length: HISTORY_S }, (_, index) => {
    const requests = Math.round(24 + 9 * Math.sin(index / 19) + 6 * Math.sin(index / 4.3));
    const failed = isBad && index > 200 ? Math.round((requests * (index - 200)) / 110) : 0;
    const firstByte = emptyHistogram();
    for (let i = 0; i < requests - failed; i++) {
      record(firstByte, 180 + ((i * 131 + index * 17) % 420) * (isBad && index > 150 ? 9 : 1));
    }
    const late = { insufficient_credit: index > 260 ? 3 : 0, rate_limited: 2, upstream_error: failed };
    return second(NOW_S - HISTORY_S + index, {
      requests,
      tokens: Math.round(requests * (1_150 + 500 * Math.sin(index / 14))),
      cost_usd: formatUsd(BigInt(requests) * 1_900_000n),
      errors: isBad ? late : index % 41 === 0 ? { rate_limited: 1 } : {},
      first_byte: firstByte,
    });
  });
}

const NAMES = ['web-shop', 'support-staging-eu-155', 'search', 'nightly-reports', 'laptop-anna', 'etl'] as const;

function activity(number: number, more: Partial<KeyActivityRow> = {}): KeyActivityRow {
  const history = Array.from({ length: 12 }, (_, part) => Math.round(40 + 30 * Math.sin(part / 2 + number)));
  return {
    id: keyId(number),
    requests: 480 - 70 * number,
    tokens: 90_000,
    open: Math.max(0, 9 - number),
    usd_per_min: formatUsd((14n * USD) / BigInt(2 ** number)),
    refused: 0,
    history,
    ...more,
  };
}

function upstream(name: string, more: Partial<UpstreamHealth> = {}): UpstreamHealth {
  const counts = { in_flight: 11, requests: 502, failures: 0, last_failure: null, causes: [] };
  return { provider: name, upstream: name, state: 'closed', ...counts, ...more };
}

function failing(name: string, message: string, more: Partial<UpstreamHealth>): UpstreamHealth {
  return upstream(name, { last_failure: { at_ms: NOW_MS, message }, ...more });
}

function cause(name: string, count: number) {
  return { cause: name, count, message: 'as last time', at_ms: NOW_MS };
}

const stored: Stored = {
  ...STORED,
  week: { costNanos: 310n * USD, spanMs: 7 * 86_400_000 },
  keys: NAMES.map((name, index) => storedKey(index, name, { rpm: 600 })),
  modelUsage: new Map([['openai/gpt-4o-mini', usageRow({ model: 'openai/gpt-4o-mini', costNanos: 190n * USD })]]),
};

const WELL: Snapshot = {
  ...SNAPSHOT,
  balance_usd: '9412.38',
  held_usd: '24.00',
  in_flight: 29,
  ...traffic(seconds(false)),
  busiest: NAMES.map((_, index) => activity(index)),
  upstreams: [upstream('anthropic'), upstream('groq', { requests: 214, in_flight: 2 }), upstream('openai')],
};

const WRONG: Snapshot = {
  ...WELL,
  balance_usd: '3.10',
  held_usd: '2.90',
  ...traffic(seconds(true)),
  busiest: [
    ...Array.from({ length: 19 }, (_, index) => activity(index, { requests: 600 - index, refused: index % 3 })),
    activity(19, { requests: 0, usd_per_min: '0.00', refused: 431, history: [] }),
  ],
  upstreams: [
    upstream('anthropic'),
    failing('openai', 'upstream 401: check the api_key of the provider', {
      requests: 12,
      failures: 12,
      causes: [cause('401', 730), cause('timeout', 3)],
    }),
    failing('groq', 'answered 429', { failures: 120, causes: [cause('429', 1_204)] }),
    failing('azure-sweden-central#2', 'no connection within 10 s', { state: 'open', requests: 0 }),
    upstream('mistral', { state: 'half_open', requests: 1 }),
    ...Array.from({ length: 12 }, (_, index) => upstream(`vllm-${index + 1}`, { requests: 30 })),
  ],
};

const DAYS = { well: WELL, wrong: WRONG } as const;
export type Day = keyof typeof DAYS;

/** The Overview on such a day. */
export function dayOf(day: Day, columns: number, rows: number): Model {
  return after(alone('overview', stored, { columns, rows }), { kind: 'snapshot', snapshot: DAYS[day] });
}
