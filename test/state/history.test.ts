/** The past as charts show it: slices of the journal, the latest admissions first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HistoryQuery, HistoryRow } from '../../src/state/history.ts';
import type { JournalPlace } from '../../src/state/requests.ts';
import type { OpenState } from '../../src/state/state.ts';
import { enter, holdOf, makeKey, NOON, onEachStore, type Stage } from './stage.ts';

const MINUTE_MS = 60_000;
const END: JournalPlace = { admittedAtMs: NOON + 60 * MINUTE_MS, row: 0n };
const ALL: HistoryQuery = { sinceMs: 0, before: END, node: 'here', limit: 1_000 };

/** A request a minute, two in every third; all but the first two end in the order of their admission. */
async function manyRequests(stage: Stage): Promise<number> {
  const { id } = await makeKey(stage.state);
  let requests = 0;
  for (let minute = 0; minute < 9; minute++) {
    for (let each = 0; each < (minute % 3 === 0 ? 2 : 1); each++) {
      const hold = holdOf(id, { admittedAtMs: NOON + minute * MINUTE_MS });
      await enter(stage, hold, { costNanos: BigInt(++requests) }, minute === 0 ? 3 * MINUTE_MS : 250);
    }
  }
  return requests;
}

/** All slices of so many rows each. */
async function slices({ history }: OpenState, query: HistoryQuery): Promise<readonly HistoryRow[][]> {
  const found: HistoryRow[][] = [];
  for (let before: JournalPlace | undefined = query.before; before !== undefined; ) {
    const { rows, next } = await history.slice({ ...query, before });
    found.push([...rows]);
    before = next;
  }
  return found;
}

onEachStore((open) => {
  describe('the history', () => {
    test('has of each request what charts show', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state);
      const usage = { promptTokens: 30, cachedTokens: 20, completionTokens: 5 };
      await enter(stage, holdOf(id), {
        usage,
        costNanos: 9_007_199_254_740_993n,
        outcome: 'upstream_error',
        firstByteMs: 42,
      });
      await enter(stage, holdOf(id, { admittedAtMs: NOON + 1 }));
      const { rows, next } = await stage.state.history.slice(ALL);
      const settledAtMs = NOON + 250;
      assert.deepEqual(rows, [
        { settledAtMs: settledAtMs + 1, outcome: 'ok', tokens: 10, costNanos: 0n, firstByteMs: undefined },
        { settledAtMs, outcome: 'upstream_error', tokens: 35, costNanos: 9_007_199_254_740_993n, firstByteMs: 42 },
      ]);
      assert.equal(next, undefined);
    });

    test('in slices of any size has each request once, the latest admission first', async (t) => {
      const stage = await open(t);
      const requests = await manyRequests(stage);
      const whole = (await stage.state.history.slice(ALL)).rows;
      assert.deepEqual(
        whole.map(({ costNanos }) => Number(costNanos)),
        Array.from({ length: requests }, (_, i) => requests - i),
      );
      for (let limit = 1; limit <= requests + 1; limit++) {
        const parts = await slices(stage.state, { ...ALL, limit });
        assert.ok(parts.every(({ length }) => length <= limit));
        assert.deepEqual(parts.flat(), whole);
      }
    });

    test('begins and ends at an admission, to the millisecond', async (t) => {
      const stage = await open(t);
      const requests = await manyRequests(stage);
      const count = async (sinceMs: number, untilMs: number) =>
        (await slices(stage.state, { ...ALL, sinceMs, before: { admittedAtMs: untilMs, row: 0n } })).flat().length;
      assert.equal(await count(NOON, END.admittedAtMs), requests);
      assert.equal(await count(NOON + 1, END.admittedAtMs), requests - 2);
      assert.equal(await count(NOON, NOON), 0);
      assert.equal(await count(NOON, NOON + 1), 2);
      assert.equal(await count(NOON + MINUTE_MS, NOON + 3 * MINUTE_MS), 2);
    });
  });
});
