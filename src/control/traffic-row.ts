/** Traffic in the form of snapshots. Pure. */
import { formatUsd } from '../core/money.ts';
import { withoutTail } from '../observe/histogram.ts';
import type { Sums } from '../observe/minutes.ts';
import type { TrafficRow } from './protocol.ts';

export function trafficRow({ atS, requests, tokens, costNanos, errors, firstByteMs }: Sums): TrafficRow {
  return {
    at_s: atS,
    requests,
    tokens,
    cost_usd: formatUsd(costNanos),
    errors: Object.fromEntries(errors),
    first_byte: withoutTail(firstByteMs),
  };
}
