/** Who requests were for: their names come with the settlement, are bounded, and add up to all requests. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_NAMES, NAME_KINDS, type SpentBy } from '../../src/core/spent-by.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import type { UsageRow } from '../../src/state/usage.ts';
import { LedgerBench, type OpenStore } from './bench.ts';

const EVERYTHING = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/** As large as a batch may be. */
const BATCH = 100;

async function reportBy(bench: LedgerBench, by: (typeof NAME_KINDS)[number]): Promise<readonly UsageRow[]> {
  return (await bench.store.operator.usage.report({ by, ...EVERYTHING })).rows;
}

function named(user: string, tag = '', app = ''): SpentBy {
  return { user, tag, app };
}

export function testNames(openStore: OpenStore): void {
  describe('the names of a request', () => {
    test('are in its row, and have its figures', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { creditEnforced: false });
      const key = await bench.newKey();
      const ids = [await bench.admit(key), await bench.admit(key), await bench.admit(key)];
      await bench.settle(ids[0] as string, { costNanos: 5n, spentBy: named('alice', 'a "tag"', 'curl') });
      await bench.settle(ids[1] as string, {
        costNanos: 7n,
        spentBy: named('', '', 'curl'),
        outcome: 'upstream_error',
      });
      await bench.settle(ids[2] as string, { costNanos: 2n });
      const rows = (await bench.store.rows('journal')).map((row) => [row.by_user, row.by_tag, row.by_app]);
      assert.deepEqual(rows, [
        ['alice', 'a "tag"', 'curl'],
        [null, null, 'curl'],
        [null, null, null],
      ]);
      const shown = async (by: (typeof NAME_KINDS)[number]) =>
        (await reportBy(bench, by)).map((row) => [row[by], row.requests, row.errors, row.costNanos]);
      assert.deepEqual(await shown('user'), [
        ['', 2, 1, 9n],
        ['alice', 1, 0, 5n],
      ]);
      assert.deepEqual(await shown('app'), [
        ['curl', 2, 1, 12n],
        ['', 1, 0, 2n],
      ]);
    });

    test('of a hostile client fill the bound and no more, also over a restart, and nothing is lost', async (t) => {
      const limits = { creditEnforced: false, rpm: 10_000, concurrency: 1_000 };
      const bench = await LedgerBench.of(t, openStore, limits);
      const key = await bench.newKey();
      const total = MAX_NAMES + BATCH;
      for (let sent = 0; sent < total; sent += BATCH) {
        if (sent === MAX_NAMES - BATCH) await bench.store.restart();
        const ids = Array.from({ length: BATCH }, () => bench.request(key));
        await bench.process(ids.map((request): Command => ({ kind: 'admit', request })));
        const settle = ({ requestId }: { requestId: string }, i: number): Command => {
          const settlement = bench.settlement(requestId, { costNanos: 1n, spentBy: named(`user ${sent + i}`, 'same') });
          return { kind: 'settle', settlement };
        };
        await bench.process(ids.map(settle));
      }
      const rows = await reportBy(bench, 'user');
      assert.equal(rows.length, MAX_NAMES + 1);
      assert.deepEqual([rows[0]?.user, rows[0]?.requests], ['other', BATCH]);
      for (const by of NAME_KINDS) {
        const found = await reportBy(bench, by);
        assert.equal(
          found.reduce((sum, { requests }) => sum + requests, 0),
          total,
          by,
        );
      }
    });
  });
}
