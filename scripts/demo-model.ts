/** A demo gateway as the dashboard sees it: the one of the tests, with more traffic. */
import type { Snapshot, TrafficRow } from '../src/control/protocol.ts';
import { formatUsd, NANOS_PER_USD } from '../src/core/money.ts';
import { emptyHistogram, record } from '../src/observe/histogram.ts';
import type { Model } from '../src/tui/model.ts';
import { after, alone, NOW_MS, SNAPSHOT, STORED, second, storedKey } from '../test/tui/samples.ts';

const HISTORY_S = 120;
const SIZE = { columns: 100, rows: 30 };

const KEYS: readonly (readonly [name: string, rpm: number, requests: number, open: number])[] = [
  ['web-shop', 1200, 1104, 14],
  ['support-bot', 600, 412, 9],
  ['search', 600, 277, 3],
  ['nightly-reports', 120, 64, 2],
  ['staging', 60, 12, 0],
  ['laptop-anna', 60, 3, 1],
];
const BALANCE_NANOS = 412_380_000_000n;

function key([name, rpm, requests]: (typeof KEYS)[number], index: number) {
  const month = {
    requests: requests * 31,
    tokens: requests * 31 * 1_400,
    costNanos: BigInt(requests) * 1_271_000_000n,
  };
  return storedKey(index, name, { rpm, spendLimitNanos: index < 3 ? 500n * NANOS_PER_USD : null }, month);
}

/** A wave with some noise, the same on every run. */
function wave(index: number): TrafficRow {
  const noise = ((index * 7_919) % 97) / 97;
  const requests = Math.round(24 + 9 * Math.sin(index / 9) + 6 * Math.sin(index / 2.3) + 6 * noise);
  const histogram = emptyHistogram();
  for (let i = 0; i < requests; i++) record(histogram, 180 + ((i * 131 + index * 17) % 420));
  return second(NOW_MS / 1000 - HISTORY_S + index, {
    requests,
    tokens: Math.round(requests * (1_150 + 500 * Math.sin(index / 14))),
    cost_usd: formatUsd(BigInt(requests) * 1_900_000n),
    errors: index % 41 === 0 ? { upstream_error: 1 } : index % 29 === 0 ? { rate_limited: 2 } : {},
    first_byte: histogram,
  });
}

export function demoModel(): Model {
  const keys = KEYS.map(key);
  const busiest = KEYS.map(([, , requests, open], index) => ({
    id: keys[index]?.record.id ?? '',
    requests,
    tokens: requests * 1_400,
    open,
    usd_per_min: '0.00',
    refused: 0,
    history: [],
  }));
  const failure = { at_ms: NOW_MS, message: 'answered 429' };
  const snapshot: Snapshot = {
    ...SNAPSHOT,
    balance_usd: formatUsd(BALANCE_NANOS),
    held_usd: '0.412000',
    in_flight: 29,
    upstreams: [
      {
        provider: 'anthropic',
        upstream: 'anthropic',
        state: 'closed',
        in_flight: 11,
        requests: 502,
        failures: 0,
        last_failure: null,
        causes: [],
      },
      {
        provider: 'groq',
        upstream: 'groq',
        state: 'closed',
        in_flight: 2,
        requests: 214,
        failures: 3,
        last_failure: failure,
        causes: [],
      },
      {
        provider: 'openai',
        upstream: 'openai',
        state: 'closed',
        in_flight: 16,
        requests: 733,
        failures: 0,
        last_failure: null,
        causes: [],
      },
    ],
    seconds: Array.from({ length: HISTORY_S }, (_, index) => wave(index)),
    busiest,
  };
  const stored = { ...STORED, balanceNanos: BALANCE_NANOS, keys };
  return after(alone('overview', stored, SIZE), { kind: 'snapshot', snapshot });
}
