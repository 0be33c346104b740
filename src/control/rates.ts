/** Rates of traffic from the seconds of a snapshot. Pure. */
import { formatUsd, parseUsd } from '../core/money.ts';
import type { TrafficRow } from './protocol.ts';

export interface Rates {
  readonly requestsPerS: number;
  readonly tokensPerS: number;
  readonly usdPerMin: string;
}

/** Averages over the last `spanS` complete seconds. */
export function ratesOf(seconds: readonly TrafficRow[], nowMs: number, spanS: number): Rates {
  const nowS = Math.floor(nowMs / 1000);
  const within = seconds.filter(({ at_s }) => at_s >= nowS - spanS && at_s < nowS);
  const sum = (read: (second: TrafficRow) => number) => within.reduce((total, second) => total + read(second), 0);
  const costNanos = within.reduce((total, { cost_usd }) => total + (parseUsd(cost_usd) ?? 0n), 0n);
  return {
    requestsPerS: sum(({ requests }) => requests) / spanS,
    tokensPerS: sum(({ tokens }) => tokens) / spanS,
    usdPerMin: formatUsd((costNanos * 60n) / BigInt(spanS)),
  };
}
