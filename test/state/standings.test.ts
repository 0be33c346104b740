/** What a gateway that starts now would decide by, as a file and a database tell it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utcMonth } from '../../src/core/clock.ts';
import { enter, holdOf, makeKey, onEachStore } from './stage.ts';

const CREDIT = 1_000n;

onEachStore((open) => {
  test('the standing of a key has its last minute, its month, and what is held', async (t) => {
    const stage = await open(t);
    const { state } = stage;
    const [key, other] = [await makeKey(state), await makeKey(state)];
    const nowMs = Date.now();
    await state.account.enter(CREDIT, 'test', nowMs);
    const ended = holdOf(key.id, { admittedAtMs: nowMs - 10_000 });
    await enter(stage, ended, { costNanos: 30n, usage: { promptTokens: 6, cachedTokens: 0, completionTokens: 4 } });
    await enter(stage, holdOf(other.id, { admittedAtMs: nowMs - 10_000 }), { costNanos: 5n });
    const open_ = holdOf(key.id, { admittedAtMs: nowMs - 5_000, holdNanos: 7n });
    await stage.hold(open_);
    const standing = await state.standings.of(key.id, Date.now());
    assert.ok([utcMonth(nowMs), utcMonth(Date.now())].includes(standing.month));
    const isFile = state.nodes === undefined;
    // A gateway that starts on a file charges what is open there; on a database another may run it.
    assert.equal(standing.interrupted, isFile ? 1 : 0);
    assert.equal(standing.balanceNanos, CREDIT - 35n - (isFile ? 7n : 0n));
    assert.equal(standing.heldNanos, isFile ? 0n : 7n);
    // The first seconds of a month charge nothing of what was admitted before.
    const charged = (atMs: number, nanos: bigint) => (utcMonth(atMs) === standing.month ? nanos : 0n);
    const interrupted = isFile ? charged(open_.admittedAtMs, 7n) : 0n;
    assert.equal(standing.chargedNanos, charged(ended.admittedAtMs, 30n) + interrupted);
    assert.equal(standing.open.length, isFile ? 0 : 1);
    assert.ok(standing.entries.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000));
  });
});
