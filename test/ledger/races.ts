/** Two and four gateways on one database meet every limit exactly, however they race. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../src/ledger/engine.ts';
import type { Admission } from '../../src/ledger/ledger.ts';
import type { NewKey } from '../../src/state/keys.ts';
import { type BenchKey, LedgerBench, USD } from './bench.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

/** Small enough that the gateways alternate many times before a limit is reached. */
const BATCH = 5;
const HOLD = 1_000n;

interface Race {
  readonly what: string;
  readonly limits: Partial<NewKey>;
  readonly reason: string;
  readonly admitted: number;
}

/** All with 10 tokens and a hold of 1,000 nanos for each request. */
const RACES: readonly Race[] = [
  { what: 'requests', limits: { rpm: 131 }, reason: 'requests_per_minute', admitted: 131 },
  { what: 'tokens', limits: { tpm: 1_115 }, reason: 'tokens_per_minute', admitted: 111 },
  { what: 'slots', limits: { concurrency: 37 }, reason: 'concurrency', admitted: 37 },
  // The last one may pass the limit, by less than itself.
  { what: 'a spend limit', limits: { spendLimitNanos: 76_500n }, reason: 'money_spoken_for', admitted: 77 },
];

/** Admissions of a key over all engines at once. Returns how many were admitted, and the reasons for the rest. */
async function race(bench: LedgerBench, engines: readonly Engine[], key: BenchKey, attempts: number) {
  let [left, admitted] = [attempts, 0];
  const reasons = new Set<string>();
  const run = async (engine: Engine) => {
    while (left > 0) {
      const size = Math.min(BATCH, left);
      left -= size;
      const commands = Array.from({ length: size }, () => {
        return { kind: 'admit', request: bench.request(key, { holdNanos: HOLD }) } as const;
      });
      for (const answer of (await bench.process(commands, engine)) as readonly Admission[]) {
        if (answer.admitted) admitted++;
        else reasons.add(answer.refusal.reason);
      }
    }
  };
  await Promise.all(engines.map(run));
  return { admitted, reasons: [...reasons] };
}

/** `attempts`: more than any limit admits. */
export function testRaces(database: SharedDatabase, gateways: number, attempts: number): void {
  test(`${attempts} admissions that race over ${gateways} gateways meet each limit exactly`, async (t) => {
    const settings = { rpm: 100_000, concurrency: 100_000 };
    const bench = await LedgerBench.of(t, database.openStore, settings);
    const store = bench.store as SharedStore;
    await bench.addCredit(USD);
    const engines: Engine[] = [store.engine];
    for (let i = 2; i <= gateways; i++) engines.push((await store.startOther(`node ${i}`)).engine);
    for (const { what, limits, reason, admitted } of RACES) {
      const result = await race(bench, engines, await bench.newKey(limits), attempts);
      assert.deepEqual(result, { admitted, reasons: [reason] }, what);
    }
    const [balance, held] = await bench.balance();
    await bench.addCredit(held - balance + 77n * HOLD + HOLD / 2n);
    const result = await race(bench, engines, await bench.newKey(), attempts);
    assert.deepEqual(result, { admitted: 77, reasons: ['money_spoken_for'] }, 'credit');
  });
}
