/** Who requests were for: their names come with the settlement, are bounded, and add up to all requests. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cleanName, MAX_NAMES, NAME_KINDS, type SpentBy } from '../../src/core/spent-by.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import type { UsageQuery, UsageRow } from '../../src/state/usage.ts';
import { type BenchKey, LedgerBench, NOON, type OpenStore } from './bench.ts';

const EVERYTHING = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/** Reports show it without its control character, and shorter. */
const LONG = 'Zo\u202eë '.repeat(40);
/** After this, the requests of a dead gateway are charged as held. */
const DOWN_MS = 15_000;
/** As large as a batch may be. */
const BATCH = 100;
const UNBOUND = { creditEnforced: false, rpm: 10_000, concurrency: 1_000 };

async function reportBy(bench: LedgerBench, by: (typeof NAME_KINDS)[number]): Promise<readonly UsageRow[]> {
  return (await bench.store.operator.usage.report({ by, ...EVERYTHING })).rows;
}

function named(user: string, tag = '', app = ''): SpentBy {
  return { user, tag, app };
}

/** As many names of users, none of which was there before. */
function namesOf(prefix: string, count: number): SpentBy[] {
  return Array.from({ length: count }, (_, i) => named(`${prefix} ${i}`, 'same'));
}

/** A request for each of them. */
async function spend(bench: LedgerBench, key: BenchKey, names: readonly SpentBy[]): Promise<void> {
  for (let sent = 0; sent < names.length; sent += BATCH) {
    const requests = names.slice(sent, sent + BATCH).map((spentBy) => ({ request: bench.request(key), spentBy }));
    await bench.process(requests.map(({ request }): Command => ({ kind: 'admit', request })));
    const settle = ({ request: { requestId }, spentBy }: (typeof requests)[number]): Command => ({
      kind: 'settle',
      settlement: bench.settlement(requestId, { costNanos: 1n, spentBy }),
    });
    await bench.process(requests.map(settle));
  }
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

    test('of end users count their requests that a crash has left open, with and without limits of theirs', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { creditEnforced: false });
      const plain = await bench.newKey();
      const limited = await bench.newKey({ userLimits: { ...NO_USER_LIMITS, rpm: 10 } });
      const hold = { holdNanos: 7n, inputTokens: 5, outputTokens: 2 };
      for (const key of [plain, limited]) {
        await bench.admit(key, { ...hold, user: 'zoe' });
        await bench.admit(key, { ...hold, user: LONG });
        await bench.admit(key, hold);
      }
      await bench.store.crash(DOWN_MS);
      const shown = (await reportBy(bench, 'user')).map((row) => [row.user, row.requests, row.errors, row.costNanos]);
      assert.deepEqual(shown.toSorted(), [
        ['', 2, 2, 14n],
        [cleanName(LONG), 2, 2, 14n],
        ['zoe', 2, 2, 14n],
      ]);
    });

    test('of a hostile client fill half of the places, also over a restart, and nothing is lost', async (t) => {
      const bench = await LedgerBench.of(t, openStore, UNBOUND);
      const key = await bench.newKey();
      const total = MAX_NAMES / 2 + 2 * BATCH;
      await spend(bench, key, namesOf('hostile', MAX_NAMES / 2 - BATCH));
      await bench.store.restart();
      await spend(bench, key, namesOf('later', 3 * BATCH));
      const rows = await reportBy(bench, 'user');
      assert.equal(rows.length, MAX_NAMES / 2 + 1);
      assert.deepEqual([rows[0]?.user, rows[0]?.requests], ['other', 2 * BATCH]);
      for (const by of NAME_KINDS) {
        const found = await reportBy(bench, by);
        assert.equal(
          found.reduce((sum, { requests }) => sum + requests, 0),
          total,
          by,
        );
      }
    });

    test('of other keys have places beside those of a hostile client: half of what is left for each', async (t) => {
      const bench = await LedgerBench.of(t, openStore, UNBOUND);
      const [hostile, honest, third] = [await bench.newKey(), await bench.newKey(), await bench.newKey()];
      await spend(bench, hostile, namesOf('hostile', MAX_NAMES / 2 + BATCH));
      await spend(bench, honest, namesOf('honest', MAX_NAMES / 4 + 5));
      await spend(bench, third, namesOf('third', BATCH));
      await spend(bench, hostile, namesOf('more', BATCH));
      const rows = await reportBy(bench, 'user');
      const shown = Object.groupBy(rows, ({ user }) => user?.split(' ')[0] ?? '');
      const places = Object.entries(shown).map(([who, of]) => [who, of?.length]);
      assert.deepEqual(Object.fromEntries(places), {
        hostile: MAX_NAMES / 2,
        honest: MAX_NAMES / 4,
        third: BATCH,
        other: 1,
      });
      assert.equal(shown.other?.[0]?.requests, 2 * BATCH + 5);
    });

    test('count together for all keys that have a place for them, and as other for one that has none', async (t) => {
      const bench = await LedgerBench.of(t, openStore, UNBOUND);
      const [hostile, honest, rotated] = [await bench.newKey(), await bench.newKey(), await bench.newKey()];
      await spend(bench, hostile, [named('alice'), ...namesOf('hostile', MAX_NAMES / 2 - 1), named('bob')]);
      await spend(bench, honest, [named('alice'), named('bob')]);
      await spend(bench, rotated, [named('alice'), named('bob'), named('bob')]);
      // It has no place of its own: the requests before would be missing in it.
      await spend(bench, hostile, [named('bob'), named('alice')]);
      const figures = async (range: Partial<UsageQuery>) => {
        const { rows } = await bench.store.operator.usage.report({ ...EVERYTHING, by: 'user', ...range });
        const found = new Map(rows.map(({ user, requests }) => [user, requests]));
        return ['alice', 'bob', 'other'].map((name) => found.get(name));
      };
      assert.deepEqual(await figures({}), [4, 3, 2]);
      assert.deepEqual(await figures({ keyId: hostile.id }), [2, undefined, 2]);
      // A part of a day comes from the journal, which has all names.
      assert.deepEqual(await figures({ sinceMs: NOON - 1, untilMs: NOON + 1 }), [4, 3, 2]);
    });
  });
}
