/** Each refusal as both stores give it: what it says, that it takes nothing, and which one comes first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Admission, AdmissionForecast, AdmissionRequest, Refusal } from '../../src/ledger/ledger.ts';
import { type BenchKey, FIRST_KEY, LedgerBench, type OpenStore, USD } from './bench.ts';

/** Ten requests, 1,000 tokens and two slots for each key, and ten USD of credit. */
const LIMITS = { rpm: 10, tpm: 1_000, concurrency: 2 };

interface Case {
  readonly refusal: Refusal;
  readonly prepare: (bench: LedgerBench, key: BenchKey) => Promise<unknown>;
  readonly request?: Partial<AdmissionRequest>;
  readonly what?: string;
}

const operatorOf = (bench: LedgerBench) => bench.store.operator;

const CASES: readonly Case[] = [
  {
    refusal: { reason: 'unknown_key' },
    prepare: (bench, key) => operatorOf(bench).keys.setState(key.id, 'deleted'),
  },
  {
    refusal: { reason: 'unknown_key' },
    prepare: async () => {},
    request: { keyHash: '00' },
    what: ', for a key that never existed',
  },
  {
    refusal: { reason: 'key_disabled' },
    prepare: (bench, key) => operatorOf(bench).keys.setState(key.id, 'disabled'),
  },
  {
    refusal: { reason: 'model_not_allowed' },
    prepare: (bench, key) => operatorOf(bench).keys.editAllowlist(key.id, () => ['mock/other']),
  },
  {
    refusal: { reason: 'model_not_allowed' },
    prepare: (bench, key) => operatorOf(bench).keys.editAllowlist(key.id, () => []),
    what: ', for an empty allowlist',
  },
  {
    refusal: { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 0n },
    prepare: (bench, key) => operatorOf(bench).keys.setLimits(key.id, { spendLimitNanos: 0n }),
    what: ', also for a free request',
  },
  {
    refusal: { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 50n },
    prepare: async (bench, key) => {
      await operatorOf(bench).keys.setLimits(key.id, { spendLimitNanos: 50n });
      await bench.settle(await bench.admit(key, { holdNanos: 49n }), { costNanos: 50n });
    },
    what: ', by what was charged',
  },
  {
    refusal: { reason: 'insufficient_credit', keyName: FIRST_KEY, balanceNanos: 10n * USD },
    prepare: async () => {},
    request: { holdNanos: 10n * USD + 1n },
  },
  {
    refusal: { reason: 'larger_than_token_limit', limit: 1_000 },
    prepare: async () => {},
    request: { reservedTokens: 1_001 },
  },
  {
    refusal: { reason: 'requests_per_minute', limit: 10, retryAfterS: 60 },
    prepare: async (bench, key) => {
      for (let i = 0; i < 10; i++) await bench.settle(await bench.admit(key));
    },
  },
  {
    refusal: { reason: 'tokens_per_minute', limit: 1_000, retryAfterS: 60 },
    prepare: (bench, key) => bench.admit(key, { reservedTokens: 991 }),
  },
  {
    refusal: { reason: 'concurrency', limit: 2, retryAfterS: 1 },
    prepare: async (bench, key) => {
      await bench.admit(key);
      await bench.admit(key);
    },
  },
  {
    refusal: { reason: 'money_spoken_for', retryAfterS: 1 },
    prepare: (bench, key) => bench.admit(key, { holdNanos: 9n * USD }),
    request: { holdNanos: USD + 1n },
    what: ', of the balance',
  },
  {
    refusal: { reason: 'money_spoken_for', retryAfterS: 1 },
    prepare: async (bench, key) => {
      await operatorOf(bench).keys.setLimits(key.id, { spendLimitNanos: 50n });
      await bench.admit(key, { holdNanos: 50n });
    },
    what: ', of the spend limit, also for a free request',
  },
];

/** From the last precondition to the first. Each is added to those before it, and is then the reason. */
const BY_RANK: readonly Pick<Case, 'prepare' | 'refusal'>[] = [
  {
    refusal: { reason: 'money_spoken_for', retryAfterS: 1 },
    prepare: async (bench) => bench.admit(await bench.newKey(), { holdNanos: 9n * USD }),
  },
  {
    refusal: { reason: 'concurrency', limit: 1, retryAfterS: 1 },
    prepare: async (bench, key) => {
      await bench.admit(key, { reservedTokens: 500 });
      await operatorOf(bench).keys.setLimits(key.id, { concurrency: 1 });
    },
  },
  {
    refusal: { reason: 'tokens_per_minute', limit: 600, retryAfterS: 60 },
    prepare: (bench, key) => operatorOf(bench).keys.setLimits(key.id, { tpm: 600 }),
  },
  {
    refusal: { reason: 'requests_per_minute', limit: 1, retryAfterS: 60 },
    prepare: (bench, key) => operatorOf(bench).keys.setLimits(key.id, { rpm: 1 }),
  },
  {
    refusal: { reason: 'larger_than_token_limit', limit: 199 },
    prepare: (bench, key) => operatorOf(bench).keys.setLimits(key.id, { tpm: 199 }),
  },
  {
    refusal: { reason: 'insufficient_credit', keyName: FIRST_KEY, balanceNanos: USD },
    prepare: (bench) => bench.addCredit(-9n * USD),
  },
  {
    refusal: { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 0n },
    prepare: (bench, key) => operatorOf(bench).keys.setLimits(key.id, { spendLimitNanos: 0n }),
  },
  {
    refusal: { reason: 'model_not_allowed' },
    prepare: (bench, key) => operatorOf(bench).keys.editAllowlist(key.id, () => []),
  },
  {
    refusal: { reason: 'key_disabled' },
    prepare: (bench, key) => operatorOf(bench).keys.setState(key.id, 'disabled'),
  },
  {
    refusal: { reason: 'unknown_key' },
    prepare: (bench, key) => operatorOf(bench).keys.setState(key.id, 'deleted'),
  },
];

function foretold(forecast: AdmissionForecast): Refusal | null | undefined {
  return forecast.kind === 'unknown' ? { reason: 'unknown_key' } : forecast.refusals[0];
}

export function testRefusals(openStore: OpenStore): void {
  describe('a refusal says why, and takes no window, no slot and no money:', () => {
    for (const { refusal, prepare, request = {}, what = '' } of CASES) {
      test(`${refusal.reason}${what}`, async (t) => {
        const bench = await LedgerBench.of(t, openStore, LIMITS);
        await bench.addCredit(10n * USD);
        const key = await bench.newKey();
        await prepare(bench, key);
        const [stored, { figures }] = [await bench.store.dump(), await bench.identify(key)];
        for (let i = 0; i < 3; i++) assert.deepEqual(await bench.refuse(key, request), refusal);
        if (request.keyHash === undefined) assert.deepEqual(foretold(await bench.forecast(key, request)), refusal);
        assert.deepEqual(await bench.store.dump(), stored);
        assert.deepEqual((await bench.identify(key)).figures, figures);
      });
    }
  });

  test('of several reasons, the first in the order of the preconditions is given, with the longest wait', async (t) => {
    const bench = await LedgerBench.of(t, openStore, LIMITS);
    await bench.addCredit(10n * USD);
    const key = await bench.newKey();
    for (const { refusal, prepare } of BY_RANK) {
      await prepare(bench, key);
      assert.deepEqual(await bench.refuse(key, { holdNanos: 2n * USD, reservedTokens: 200 }), refusal);
    }
  });

  test('the longest wait of all limits is named, whichever the first is', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 1, tpm: 100, concurrency: 1 });
    const key = await bench.newKey();
    const first = await bench.admit(key, { reservedTokens: 10 });
    await bench.store.advance(30_000);
    await bench.settle(first, { usage: { promptTokens: 90, cachedTokens: 0, completionTokens: 0 } });
    await bench.store.advance(10_000);
    const reason = 'requests_per_minute';
    assert.deepEqual(await bench.refuse(key, { reservedTokens: 10 }), { reason, limit: 1, retryAfterS: 20 });
    assert.deepEqual(await bench.refuse(key, { reservedTokens: 11 }), { reason, limit: 1, retryAfterS: 50 });
  });

  test('a batch decides its requests one by one: only as many as fit', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { ...LIMITS, concurrency: 60 });
    await bench.addCredit(1_000n);
    const key = await bench.newKey({ spendLimitNanos: 100n });
    const commands = Array.from({ length: 20 }, () => {
      return { kind: 'admit', request: bench.request(key, { holdNanos: 30n }) } as const;
    });
    const answers = (await bench.process(commands)) as readonly Admission[];
    // The last passes the spend limit by less than itself.
    assert.deepEqual(answers.map(({ admitted }) => admitted).lastIndexOf(true), 3);
    assert.deepEqual(await bench.balance(), [1_000n, 120n]);
  });
}
