/** What an operator reads of a refusal: what was reached, and when there is room again. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Refusal, SpendRefusal } from '../../../src/ledger/ledger.ts';
import { causeOf } from '../../../src/proxy/refusals.ts';

const MIDNIGHT_MS = Date.UTC(2026, 10, 24);

function spent(more: Partial<SpendRefusal>): SpendRefusal {
  return { reason: 'spend_limit_reached', limitNanos: 100_000_000n, ...more };
}

const CAUSES: readonly (readonly [cause: string, refusal: Refusal])[] = [
  [
    '0.10 USD/day spent, again at 2026-11-24T00:00:00Z',
    spent({ budget: { period: 'day', freesAtMs: MIDNIGHT_MS - 1 } }),
  ],
  [
    '0.10 USD/2h of the group research spent, again at 2026-11-24T00:00:00Z',
    spent({ budget: { period: '2h', freesAtMs: MIDNIGHT_MS }, level: { kind: 'group', name: 'research' } }),
  ],
  ['0.10 USD in total spent', spent({ budget: { period: 'total', freesAtMs: null } })],
  ['0.10 USD/month spent', spent({})],
  ['only 0.000396 USD of credit', { reason: 'insufficient_credit', balanceNanos: 396_000n }],
  ['20 requests/min, again in 7 s', { reason: 'requests_per_minute', limit: 20, retryAfterS: 7 }],
];

for (const [cause, refusal] of CAUSES) {
  test(cause, () => assert.equal(causeOf(refusal), cause));
}
