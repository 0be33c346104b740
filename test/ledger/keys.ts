/** What keys may do: allowlists, edits that are in force at once, identity, listings and slots. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Admission, ListingAdmission } from '../../src/ledger/ledger.ts';
import { type BenchKey, LedgerBench, type OpenStore, USD } from './bench.ts';

interface Edit {
  readonly what: string;
  readonly edit: (bench: LedgerBench, key: BenchKey) => Promise<unknown>;
  /** The reason after the edit; undefined if the request is admitted. */
  readonly reason: string | undefined;
  readonly before?: (bench: LedgerBench, key: BenchKey) => Promise<unknown>;
}

const keysOf = (bench: LedgerBench) => bench.store.operator.keys;

const EDITS: readonly Edit[] = [
  { what: 'disabled', edit: (bench, { id }) => keysOf(bench).setState(id, 'disabled'), reason: 'key_disabled' },
  { what: 'deleted', edit: (bench, { id }) => keysOf(bench).setState(id, 'deleted'), reason: 'unknown_key' },
  {
    what: 'enabled again',
    before: (bench, { id }) => keysOf(bench).setState(id, 'disabled'),
    edit: (bench, { id }) => keysOf(bench).setState(id, 'enabled'),
    reason: undefined,
  },
  {
    what: 'given fewer requests',
    edit: (bench, { id }) => keysOf(bench).setLimits(id, { rpm: 1 }),
    reason: 'requests_per_minute',
  },
  {
    what: 'given fewer tokens',
    edit: (bench, { id }) => keysOf(bench).setLimits(id, { tpm: 15 }),
    reason: 'tokens_per_minute',
  },
  {
    what: 'given fewer slots',
    edit: (bench, { id }) => keysOf(bench).setLimits(id, { concurrency: 1 }),
    reason: 'concurrency',
  },
  {
    what: 'given a spend limit',
    edit: (bench, { id }) => keysOf(bench).setLimits(id, { spendLimitNanos: 0n }),
    reason: 'spend_limit_reached',
  },
  {
    what: 'given the default limits again',
    before: (bench, { id }) => keysOf(bench).setLimits(id, { rpm: 1, spendLimitNanos: 0n }),
    edit: (bench, { id }) => keysOf(bench).setLimits(id, { rpm: null, spendLimitNanos: null }),
    reason: undefined,
  },
  {
    what: 'given an allowlist',
    edit: (bench, { id }) => keysOf(bench).editAllowlist(id, () => ['mock/other']),
    reason: 'model_not_allowed',
  },
  {
    what: 'allowed another model',
    before: (bench, { id }) => keysOf(bench).editAllowlist(id, () => []),
    edit: (bench, { id }) => keysOf(bench).editAllowlist(id, () => ['mock/other', 'mock/echo']),
    reason: undefined,
  },
  { what: 'without credit', edit: (bench) => bench.addCredit(-USD), reason: 'insufficient_credit' },
];

export function testKeys(openStore: OpenStore): void {
  describe('with the next decision an operator sees in force that a key was', () => {
    for (const { what, edit, reason, before } of EDITS) {
      test(what, async (t) => {
        const bench = await LedgerBench.of(t, openStore);
        await bench.addCredit(USD);
        const key = await bench.newKey();
        // The engine knows the key, and the key has a request in flight.
        await bench.admit(key, { holdNanos: 1n });
        await before?.(bench, key);
        await bench.identify(key);
        await edit(bench, key);
        const admission = await bench.decide(key, { holdNanos: 100n });
        assert.equal(admission.admitted ? undefined : admission.refusal.reason, reason);
      });
    }

    test('made, although it was unknown before', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const [first] = [await bench.newKey()];
      assert.equal((await bench.identify({ ...first, hash: '00' })).kind, 'unknown');
      await bench.admit(await bench.newKey());
    });

    test('given credit', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const key = await bench.newKey();
      assert.equal((await bench.refuse(key, { holdNanos: 1n })).reason, 'insufficient_credit');
      await bench.addCredit(1n);
      await bench.admit(key, { holdNanos: 1n });
    });
  });

  test('new settings are in force with the next batch, for keys without limits of their own', async (t) => {
    const bench = await LedgerBench.of(t, openStore);
    const [key, own] = [await bench.newKey(), await bench.newKey({ rpm: 5, tpm: 900, concurrency: 3 })];
    const settings = { ...bench.settings, rpm: 1, tpm: 50, concurrency: 2, modelsRpm: 1, creditEnforced: false };
    await bench.process([{ kind: 'configure', settings }]);
    await bench.admit(key, { holdNanos: 5n });
    assert.deepEqual(await bench.refuse(key), { reason: 'requests_per_minute', limit: 1, retryAfterS: 60 });
    assert.deepEqual(await bench.refuse(key, { reservedTokens: 51 }), { reason: 'larger_than_token_limit', limit: 50 });
    assert.equal((await bench.list(key)).kind, 'admitted');
    assert.equal((await bench.list(key)).kind, 'limited');
    assert.equal((await bench.identify(own)).figures.limitRequests, 5);
  });

  test('an admission returns the fallbacks that the key may call', async (t) => {
    const bench = await LedgerBench.of(t, openStore);
    const fallbacks = ['mock/a', 'mock/b', 'mock/echo'];
    const [all, some] = [await bench.newKey(), await bench.newKey({ allowlist: ['mock/b', 'mock/echo'] })];
    const admitted = async (key: BenchKey, ids: string[]) => {
      const admission = (await bench.decide(key, { fallbacks: ids })) as Extract<Admission, { admitted: true }>;
      return admission.fallbacks;
    };
    assert.deepEqual(await admitted(all, fallbacks), fallbacks);
    assert.deepEqual(await admitted(some, fallbacks), ['mock/b', 'mock/echo']);
    assert.deepEqual(await admitted(some, ['mock/a']), []);
    const plain = (await bench.decide(all)) as Extract<Admission, { admitted: true }>;
    assert.equal(plain.fallbacks, undefined);
  });

  testIdentity(openStore);
  testListings(openStore);
}

function testIdentity(openStore: OpenStore): void {
  test('identity says who a client is, and why any request of it would be refused', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 3 });
    await bench.addCredit(10n);
    const key = await bench.newKey({ allowlist: ['mock/echo'], spendLimitNanos: 100n, concurrency: 2 });
    const fresh = await bench.identify(key);
    assert.ok(fresh.kind === 'enabled');
    assert.deepEqual(
      [fresh.keyId, fresh.allowlist, fresh.concurrency, fresh.refusal, fresh.refusalIfFree],
      [key.id, ['mock/echo'], 2, undefined, undefined],
    );
    const refusals = async () => {
      const identity = await bench.identify(key);
      assert.ok(identity.kind === 'enabled');
      return [identity.refusal, identity.refusalIfFree];
    };
    const first = await bench.admit(key, { holdNanos: 10n });
    const spoken = { reason: 'money_spoken_for', retryAfterS: 1 };
    assert.deepEqual(await refusals(), [spoken, undefined]);
    await bench.admit(key);
    const full = { reason: 'concurrency', limit: 2, retryAfterS: 1 };
    assert.deepEqual(await refusals(), [full, full]);
    await bench.settle(first, { costNanos: 10n });
    assert.deepEqual(await refusals(), [
      { reason: 'insufficient_credit', keyName: key.name, balanceNanos: 0n },
      undefined,
    ]);
    await bench.admit(key);
    const third = { reason: 'requests_per_minute', limit: 3, retryAfterS: 60 };
    assert.deepEqual((await refusals())[1], third);
    await bench.store.operator.keys.setLimits(key.id, { spendLimitNanos: 10n });
    const spent = { reason: 'spend_limit_reached', keyName: key.name, limitNanos: 10n };
    assert.deepEqual(await refusals(), [spent, spent]);
    await bench.store.operator.keys.setState(key.id, 'disabled');
    const disabled = await bench.identify(key);
    assert.deepEqual([disabled.kind, disabled.figures.remainingRequests], ['disabled', 0]);
    await bench.store.operator.keys.setState(key.id, 'deleted');
    const deleted = await bench.identify(key);
    assert.deepEqual([deleted.kind, deleted.figures.remainingRequests], ['unknown', 3]);
  });

  test('a question takes nothing', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 1, concurrency: 1 });
    const key = await bench.newKey();
    for (let i = 0; i < 3; i++) assert.equal((await bench.identify(key)).figures.remainingRequests, 1);
    await bench.admit(key);
  });

  test('a freed slot is free for the next request, and hold and reservation stay', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { concurrency: 1, tpm: 100 });
    await bench.addCredit(USD);
    const key = await bench.newKey();
    const first = await bench.admit(key, { holdNanos: 100n, reservedTokens: 60 });
    assert.equal((await bench.refuse(key)).reason, 'concurrency');
    await bench.freeSlot(first);
    await bench.freeSlot(first);
    assert.equal((await bench.refuse(key, { reservedTokens: 41 })).reason, 'tokens_per_minute');
    assert.equal((await bench.refuse(await bench.newKey(), { holdNanos: USD - 99n })).reason, 'money_spoken_for');
    const next = await bench.admit(key);
    assert.equal((await bench.refuse(key)).reason, 'concurrency');
    assert.deepEqual(await bench.balance(), [USD, 100n]);
    await bench.settle(first);
    assert.equal((await bench.refuse(key)).reason, 'concurrency');
    await bench.settle(next);
    await bench.admit(key);
  });
}

function testListings(openStore: OpenStore): void {
  test('the window of listings is separate: they do not count as requests, nor requests as listings', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 1, modelsRpm: 2, concurrency: 2 });
    const key = await bench.newKey({
      name: 'app',
      spendLimitNanos: 500n,
      budgets: [{ period: '24h', limitNanos: 90n }],
    });
    await bench.settle(await bench.admit(key), { costNanos: 40n });
    const first = await bench.list(key);
    assert.ok(first.kind === 'admitted');
    const { requests, outer, ...account } = first.account;
    assert.deepEqual(outer, []);
    const { budgets, ...plain } = account;
    assert.deepEqual(plain, {
      name: 'app',
      spendLimitNanos: 500n,
      chargedNanos: 40n,
      expiresAtMs: null,
      freeSlots: 2,
    });
    assert.deepEqual(
      budgets.map(({ period, limitNanos, chargedNanos }) => [period, limitNanos, chargedNanos]),
      [['24h', 90n, 40n]],
    );
    assert.deepEqual([requests.limitRequests, requests.remainingRequests], [1, 0]);
    await bench.store.advance(15_000);
    const second = await bench.list(key);
    const { figures } = second;
    assert.deepEqual([figures.limitRequests, figures.remainingRequests, figures.resetRequestsS], [2, 0, 60]);
    const limited = await bench.list(key);
    assert.ok(limited.kind === 'limited');
    assert.deepEqual([limited.keyId, limited.limit, limited.retryAfterS], [key.id, 2, 45]);
    assert.deepEqual((await bench.identify(key, 'listings')).figures, limited.figures);
    assert.equal((await bench.identify(key)).figures.remainingRequests, 0);
    await bench.store.advance(44_000);
    assert.equal((await bench.list(key)).kind, 'limited');
    await bench.store.advance(1_000);
    assert.equal((await bench.list(key)).kind, 'admitted');
  });

  test('listings admit no key that is unknown, deleted or disabled', async (t) => {
    const bench = await LedgerBench.of(t, openStore);
    const [deleted, disabled] = [await bench.newKey(), await bench.newKey()];
    await bench.store.operator.keys.setState(deleted.id, 'deleted');
    await bench.store.operator.keys.setState(disabled.id, 'disabled');
    assert.equal((await bench.list(deleted)).kind, 'unknown');
    assert.equal((await bench.list({ ...deleted, hash: '00' })).kind, 'unknown');
    assert.equal((await bench.list(disabled)).kind, 'disabled');
  });

  test('a count of tokens has a slot until it ends; without one it takes nothing, and listings need none', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { concurrency: 2 });
    const [key, other] = [await bench.newKey(), await bench.newKey()];
    const request = await bench.admit(key);
    assert.equal((await bench.beginCount(key, 'c1')).kind, 'admitted');
    const stored = await bench.store.dump();
    for (let i = 0; i < 3; i++) {
      const busy = await bench.beginCount(key, 'c2');
      assert.ok(busy.kind === 'busy');
      assert.deepEqual([busy.keyId, busy.limit, busy.figures.remainingRequests], [key.id, 2, 599]);
    }
    assert.deepEqual(await bench.store.dump(), stored);
    assert.equal((await bench.list(key)).figures.remainingRequests, 5_998);
    assert.equal((await bench.beginCount(other, 'c3')).kind, 'admitted');
    await bench.endCount('c1');
    assert.equal((await bench.beginCount(key, 'c2')).kind, 'admitted');
    await bench.endCount('c2');
    await bench.settle(request);
    const batch = ['c4', 'c5', 'c6'].map((countId) => ({ kind: 'admit_listing', keyHash: key.hash, countId }) as const);
    const kinds = (await bench.process(batch)).map((answer) => (answer as ListingAdmission).kind);
    assert.deepEqual(kinds, ['admitted', 'admitted', 'busy']);
  });

  test('a count is refused as any listing is, and one that has not begun has no slot to free', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { concurrency: 1, modelsRpm: 1 });
    const [key, disabled] = [await bench.newKey(), await bench.newKey()];
    await bench.store.operator.keys.setState(disabled.id, 'disabled');
    assert.equal((await bench.beginCount(disabled, 'c1')).kind, 'disabled');
    assert.equal((await bench.beginCount({ ...key, hash: '00' }, 'c1')).kind, 'unknown');
    await bench.list(key);
    assert.equal((await bench.beginCount(key, 'c1')).kind, 'limited');
    await bench.endCount('c1');
    await bench.admit(key);
  });
}
