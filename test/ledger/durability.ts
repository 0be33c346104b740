/** What failures leave behind: batches that fail, and processes that end with requests in flight. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command } from '../../src/ledger/protocol.ts';
import { LedgerBench, NOON, type OpenStore, tokens, USD } from './bench.ts';

const DOWN_MS = 15_000;
const DAY_MS = 86_400_000;

export function testDurability(openStore: OpenStore): void {
  test('a batch that fails changes nothing, and can be decided again', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 4, tpm: 200, concurrency: 4 });
    await bench.addCredit(USD);
    const key = await bench.newKey({ spendLimitNanos: 500n });
    const [ended, freed, grown] = [
      await bench.admit(key, { holdNanos: 10n }),
      await bench.admit(key, { holdNanos: 10n }),
      await bench.admit(key, { holdNanos: 10n }),
    ];
    const commands: Command[] = [
      { kind: 'free_slot', requestId: freed },
      { kind: 'grow', growth: { requestId: grown, outputTokens: 50, holdNanos: 60n } },
      { kind: 'admit_listing', keyHash: key.hash },
      // The first that cannot be written: all before it has to be undone.
      { kind: 'settle', settlement: bench.settlement(ended, { costNanos: 90n, ...tokens(30) }) },
      { kind: 'admit', request: bench.request(key, { holdNanos: 50n }) },
    ];
    await bench.list(key);
    // Another key could have all that is not held.
    const other = await bench.newKey();
    const rest = () => bench.forecast(other, { requestId: 'req_of_another', holdNanos: USD - 30n });
    const [stored, identity, forecast] = [await bench.store.dump(), await bench.identify(key), await rest()];
    await bench.store.whileBroken(async () => {
      await assert.rejects(bench.process(commands), /broken/);
      await assert.rejects(bench.process(commands), /broken/);
    });
    assert.deepEqual(await bench.store.dump(), stored);
    assert.deepEqual(await bench.identify(key), identity);
    assert.deepEqual(await rest(), forecast);
    await bench.process(commands);
    assert.deepEqual(await bench.balance(), [USD - 90n, 120n]);
    assert.equal((await bench.identify(key)).figures.remainingRequests, 0);
    assert.equal((await bench.list(key)).figures.remainingRequests, 6_000 - 3);
  });

  test('a settlement writes all that is known of its request', async (t) => {
    const bench = await LedgerBench.of(t, openStore);
    await bench.addCredit(USD);
    const key = await bench.newKey();
    const id = await bench.admit(key, { holdNanos: 700n });
    await bench.store.advance(2_500);
    await bench.settle(id, {
      source: 'counted',
      outcome: 'upstream_error',
      completionId: 'chatcmpl-1',
      firstByteMs: 250,
      usage: { promptTokens: 30, cachedTokens: 5, completionTokens: 12 },
      costNanos: 41n,
      served: { model: 'mock/spare', upstream: 'mock', attempts: 2 },
      failure: { reason: 'http_status', status: 500, message: 'upstream 500' },
    });
    const found = await bench.store.operator.requests.find(id);
    assert.deepEqual(
      [found?.model, found?.admittedAtMs, found?.holdNanos, found?.end?.costNanos],
      ['mock/spare', NOON, 700n, 41n],
    );
    const [row] = await bench.store.rows('journal');
    assert.deepEqual(
      [row?.requested_model, row?.upstream, row?.attempts, row?.settled_at_ms, row?.outcome, row?.source],
      ['mock/echo', 'mock', 2n, BigInt(NOON + 2_500), 'upstream_error', 'counted'],
    );
    assert.deepEqual(
      [row?.prompt_tokens, row?.cached_tokens, row?.cache_write_tokens, row?.completion_tokens],
      [30n, 5n, 0n, 12n],
    );
    assert.deepEqual(
      [row?.completion_id, row?.first_byte_ms, row?.failure_reason, row?.failure_status, row?.failure_message],
      ['chatcmpl-1', 250n, 'http_status', 500n, 'upstream 500'],
    );
    assert.equal(row?.key_id, key.id);
    assert.deepEqual(await bench.store.rows('holds'), []);
  });

  test('old rows are dropped, and no sum changes', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { journalRetentionMs: 30 * DAY_MS });
    await bench.addCredit(USD);
    const key = await bench.newKey();
    const open = await bench.admit(key);
    for (let i = 0; i < 3; i++) {
      await bench.settle(await bench.admit(key), { costNanos: 5n, ...tokens(7) });
      await bench.store.advance(20 * DAY_MS);
    }
    await bench.settle(open, { costNanos: 100n });
    const everything = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
    const before = await bench.store.operator.usage.report({ ...everything, by: 'day' });
    assert.equal(await bench.store.engine.dropOldRows(), false);
    // The request that was settled late stays for a month after that.
    assert.deepEqual(
      (await bench.store.rows('journal')).map((row) => row.cost_nanos),
      [100n, 5n],
    );
    const { rows } = await bench.store.operator.usage.report({ ...everything, by: 'day' });
    assert.deepEqual(rows, before.rows);
  });

  testRecovery(openStore);
}

function testRecovery(openStore: OpenStore): void {
  describe('a request that a crash left open', () => {
    test('is charged as held, with the tokens of its hold as it has grown', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      const key = await bench.newKey();
      const id = await bench.admit(key, { holdNanos: 70n, inputTokens: 30, outputTokens: 40 });
      await bench.grow(id, 140n, 80);
      await bench.store.crash(DOWN_MS);
      assert.deepEqual(bench.store.summary, {
        created: false,
        balanceNanos: USD - 140n,
        keys: 1,
        recoveredHolds: 1,
      });
      assert.deepEqual(await bench.store.rows('holds'), []);
      const [row] = await bench.store.rows('journal');
      assert.deepEqual([row?.request_id, row?.source, row?.outcome], [id, 'held', 'interrupted']);
      assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.cost_nanos], [30n, 80n, 140n]);
      assert.deepEqual([row?.admitted_at_ms, row?.settled_at_ms], [BigInt(NOON), BigInt(NOON + DOWN_MS)]);
      const everything = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
      const { rows } = await bench.store.operator.usage.report({ ...everything, by: undefined });
      assert.deepEqual([rows[0]?.requests, rows[0]?.errors, rows[0]?.costNanos], [1, 1, 140n]);
    });

    test('is settled once, however often a gateway starts', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      await bench.admit(await bench.newKey(), { holdNanos: 70n });
      await bench.store.crash(DOWN_MS);
      await bench.store.crash(DOWN_MS);
      assert.equal(bench.store.summary.recoveredHolds, 0);
      assert.equal((await bench.store.rows('journal')).length, 1);
      assert.deepEqual(await bench.balance(), [USD - 70n, 0n]);
    });

    test('no longer takes a slot, and its charge counts against the spend limit', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { concurrency: 1 });
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 100n });
      await bench.admit(key, { holdNanos: 99n });
      await bench.store.crash(DOWN_MS);
      await bench.settle(await bench.admit(key, { holdNanos: 1n }), { costNanos: 1n });
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
    });

    test('is charged in the month of its admission', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.store.setClock(Date.UTC(2026, 10, 30, 23, 59));
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 71n });
      await bench.admit(key, { holdNanos: 70n });
      await bench.store.crash(3_600_000);
      const { usage } = bench.store.operator;
      assert.equal((await usage.monthOf(key.id, '2026-11')).costNanos, 70n);
      assert.equal((await usage.monthOf(key.id, '2026-12')).costNanos, 0n);
      await bench.admit(key, { holdNanos: 70n });
    });

    test('can be corrected, which counts with the next decision', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 500n });
      const id = await bench.admit(key, { holdNanos: 700n });
      await bench.store.crash(DOWN_MS);
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
      assert.equal((await bench.store.operator.requests.correct(id, 499n, NOON)).kind, 'done');
      await bench.settle(await bench.admit(key, { holdNanos: 1n }), { costNanos: 0n });
      assert.deepEqual(await bench.balance(), [USD - 499n, 0n]);
    });
  });

  describe('the windows after a restart', () => {
    test('contain what was admitted and settled in the last minute, at the original times', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { rpm: 3, tpm: 100 });
      const key = await bench.newKey();
      await bench.settle(await bench.admit(key), tokens(20, 10));
      await bench.store.advance(20_000);
      await bench.settle(await bench.admit(key), tokens(30, 10));
      await bench.store.crash(DOWN_MS);
      const { figures } = await bench.identify(key);
      assert.deepEqual([figures.remainingRequests, figures.resetRequestsS], [1, 45]);
      assert.deepEqual([figures.remainingTokens, figures.resetTokensS], [30, 45]);
      const reason = 'tokens_per_minute';
      assert.deepEqual(await bench.refuse(key, { reservedTokens: 31 }), { reason, limit: 100, retryAfterS: 25 });
      await bench.store.advance(25_000);
      await bench.admit(key, { reservedTokens: 31 });
    });

    test('are the same after an orderly end', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { rpm: 3, tpm: 100 });
      const key = await bench.newKey();
      await bench.settle(await bench.admit(key), tokens(20, 10));
      await bench.store.advance(20_000);
      const { figures } = await bench.identify(key);
      await bench.store.restart();
      assert.deepEqual((await bench.identify(key)).figures, figures);
    });

    test('are empty if no gateway ran for a minute', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { rpm: 1 });
      const key = await bench.newKey();
      await bench.settle(await bench.admit(key));
      await bench.store.crash(60_000);
      await bench.admit(key);
    });
  });
}
