/** What operator and client read of a refusal: what was reached, of which level, and when there is room again. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Refusal, SpendRefusal } from '../../../src/ledger/ledger.ts';
import { causeOf, errorForRefusal, outOfMoney } from '../../../src/proxy/refusals.ts';

const RESEARCH = { kind: 'group', name: 'research' } as const;
const ZOE = { kind: 'user', name: 'app', of: 'key' } as const;
const MIDNIGHT_MS = Date.UTC(2026, 10, 24);

function spent(more: Partial<SpendRefusal>): SpendRefusal {
  return { reason: 'spend_limit_reached', keyName: 'app', limitNanos: 100_000_000n, ...more };
}

const CAUSES: readonly (readonly [cause: string, refusal: Refusal])[] = [
  [
    '0.10 USD/day spent, again at 2026-11-24T00:00:00Z',
    spent({ budget: { period: 'day', freesAtMs: MIDNIGHT_MS - 1 } }),
  ],
  [
    '0.10 USD/2h of the group research spent, again at 2026-11-24T00:00:00Z',
    spent({ budget: { period: '2h', freesAtMs: MIDNIGHT_MS }, level: RESEARCH }),
  ],
  ['0.10 USD in total spent', spent({ budget: { period: 'total', freesAtMs: null } })],
  ['0.10 USD/month spent', spent({})],
  ['only 0.000396 USD of credit', { reason: 'insufficient_credit', keyName: 'app', balanceNanos: 396_000n }],
  ['20 requests/min, again in 7 s', { reason: 'requests_per_minute', limit: 20, retryAfterS: 7 }],
  ['money held for requests in flight', { reason: 'money_spoken_for', retryAfterS: 1 }],
  [
    'money of the group research held for requests in flight',
    { reason: 'money_spoken_for', retryAfterS: 1, level: RESEARCH },
  ],
];

for (const [cause, refusal] of CAUSES) {
  test(cause, () => assert.equal(causeOf(refusal), cause));
}

const MESSAGES: readonly (readonly [beginning: string, refusal: Refusal])[] = [
  ['The remaining money is held for requests in flight.', { reason: 'money_spoken_for', retryAfterS: 1 }],
  [
    'The remaining money of the group research is held for requests in flight.',
    { reason: 'money_spoken_for', retryAfterS: 1, level: RESEARCH },
  ],
  [
    'The remaining money for this end user is held for requests in flight.',
    { reason: 'money_spoken_for', retryAfterS: 1, level: ZOE },
  ],
  ['The key app has reached its monthly spend limit of 0.10 USD. It resets next month (UTC). The operator', spent({})],
  ['The key app has reached its monthly spend limit of 0.00 USD. The operator', spent({ limitNanos: 0n })],
  ['The group research has reached its monthly spend limit', spent({ level: RESEARCH })],
  ['The key outer has reached its monthly spend limit', spent({ level: { kind: 'key', name: 'outer' } })],
  [
    'The account balance does not cover this request of the key app, which may cost',
    { reason: 'insufficient_credit', keyName: 'app', balanceNanos: 0n },
  ],
];

for (const [beginning, refusal] of MESSAGES) {
  test(`a client reads: ${beginning}`, () => {
    const { message } = errorForRefusal(refusal, 'mock/echo', 1n);
    assert.equal(message.slice(0, beginning.length), beginning);
  });
}

const RAISES: readonly (readonly [command: string, refusal: SpendRefusal])[] = [
  ['limits set app --spend-limit <usd>', spent({})],
  ['limits set app --budget total=<usd>', spent({ budget: { period: 'total', freesAtMs: null } })],
  ["limits set 'my app' --spend-limit <usd>", spent({ keyName: 'my app' })],
  ['limits set outer --spend-limit <usd>', spent({ level: { kind: 'key', name: 'outer' } })],
  ['limits set @research --spend-limit <usd>', spent({ level: RESEARCH })],
  ['limits set app --user-spend-limit <usd>', spent({ keyName: 'app/child', level: ZOE })],
  ['users set <user> --key app --spend-limit <usd>', spent({ level: { ...ZOE, own: ['spend_limit'] } })],
];

for (const [command, refusal] of RAISES) {
  test(`a client reads whose limit can be raised, and how: ${command}`, () => {
    const { message } = errorForRefusal(refusal, 'mock/echo', 1n);
    assert.equal(message.split('inf-gw ')[1], command);
    assert.equal(outOfMoney(refusal).message.split('inf-gw ')[1], command);
  });
}
