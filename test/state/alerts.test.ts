/** Marks and outbox of alerts: each crossing once among many gateways, and each delivery by one of them at a time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_PENDING, type OutgoingAlert } from '../../src/state/alerts.ts';
import { enter, holdOf, makeKey, NOON, onEachStore, USD } from './stage.ts';

const MARK = { span: '2026-11', value: '80', toldAtMs: NOON, untilMs: null };
const LEASE_MS = 60_000;

function alertOf(id: string, targets: readonly string[] = ['webhook:a']): OutgoingAlert {
  return { id, body: `{"id":"${id}"}`, atMs: Date.now(), targets };
}

const first = (subject: string) => ({ subject, revision: 0, mark: MARK });

onEachStore((open) => {
  test('a mark is changed only by who has read the latest, and its event with it', async (t) => {
    const { alerts } = (await open(t)).state;
    assert.equal(await alerts.change(first('budget/k/month'), alertOf('a')), 'done');
    assert.equal(await alerts.change(first('budget/k/month'), alertOf('b')), 'stale');
    assert.deepEqual([...(await alerts.marks())], [['budget/k/month', { ...MARK, revision: 1 }]]);
    const change = { subject: 'budget/k/month', revision: 1, mark: { ...MARK, value: '95', untilMs: NOON } };
    assert.equal(await alerts.change(change, undefined), 'done');
    assert.deepEqual((await alerts.marks()).get('budget/k/month'), { ...change.mark, revision: 2 });
    assert.equal(await alerts.change({ ...change, mark: undefined }, undefined), 'stale');
    assert.equal(await alerts.change({ ...change, revision: 2, mark: undefined }, undefined), 'done');
    assert.equal((await alerts.marks()).size, 0);
    assert.deepEqual(
      (await alerts.list(10)).map(({ body }) => body),
      ['{"id":"a"}'],
    );
  });

  test('of several gateways that see the same at once, one tells it', async (t) => {
    const stage = await open(t);
    const gateways = [stage.state, await stage.open(), await stage.open(), await stage.open()];
    const outcomes = await Promise.all(gateways.map(({ alerts }, i) => alerts.change(first('s'), alertOf(`e${i}`))));
    assert.deepEqual(outcomes.toSorted(), ['done', 'stale', 'stale', 'stale']);
    assert.equal((await stage.state.alerts.list(10)).length, 1);
  });

  test('each delivery is taken on by one gateway, each target by itself, the oldest first', async (t) => {
    const stage = await open(t);
    const gateways = [stage.state, await stage.open(), await stage.open()];
    const { alerts } = stage.state;
    await alerts.change(first('s1'), alertOf('a', ['webhook:a', 'command:b']));
    await alerts.change(first('s2'), alertOf('b', ['webhook:a']));
    const claim = (target: string) =>
      Promise.all(gateways.map((gateway, i) => gateway.alerts.claim(target, `gw${i}`, LEASE_MS)));
    const bodies = (await claim('webhook:a')).map((claimed) => claimed?.body);
    assert.deepEqual(bodies.toSorted(), ['{"id":"a"}', '{"id":"b"}', undefined]);
    assert.equal((await claim('command:b')).filter((claimed) => claimed !== undefined).length, 1);
    assert.deepEqual(await claim('webhook:other'), [undefined, undefined, undefined]);
  });

  test('a delivery that has ended is not taken on again; one that failed is, with the number of attempts', async (t) => {
    const { alerts } = (await open(t)).state;
    await alerts.change(first('s'), alertOf('a'));
    const one = await alerts.claim('webhook:a', 'gw', LEASE_MS);
    assert.equal(one?.attempts, 0);
    await alerts.settle(one?.delivery ?? 0, 'gw', { kind: 'retry', answer: '500', afterMs: 0 });
    const two = await alerts.claim('webhook:a', 'gw', LEASE_MS);
    assert.equal(two?.attempts, 1);
    assert.deepEqual(
      (await alerts.list(1)).map(({ state, attempts, answer }) => [state, attempts, answer]),
      [['pending', 1, '500']],
    );
    await alerts.settle(two?.delivery ?? 0, 'gw', { kind: 'retry', answer: '500', afterMs: LEASE_MS });
    assert.equal(await alerts.claim('webhook:a', 'gw', LEASE_MS), undefined);
    await alerts.change(first('s2'), alertOf('b'));
    const three = await alerts.claim('webhook:a', 'gw', LEASE_MS);
    await alerts.settle(three?.delivery ?? 0, 'gw', { kind: 'delivered', answer: '200' });
    assert.equal(await alerts.claim('webhook:a', 'gw', 0), undefined);
    assert.deepEqual(
      (await alerts.list(10)).map(({ state }) => state),
      ['delivered', 'pending'],
    );
  });

  test('what a killed gateway has taken on is due again: for its successor at once, for others after a while', async (t) => {
    const { alerts } = (await open(t)).state;
    await alerts.change(first('s'), alertOf('a'));
    const lost = await alerts.claim('webhook:a', 'gw1', LEASE_MS);
    assert.equal(await alerts.claim('webhook:a', 'gw2', LEASE_MS), undefined);
    await alerts.release('gw2');
    assert.equal(await alerts.claim('webhook:a', 'gw2', LEASE_MS), undefined);
    await alerts.release('gw1');
    assert.equal((await alerts.claim('webhook:a', 'gw1', 0))?.delivery, lost?.delivery);
    // The lease of 0 is over.
    assert.equal((await alerts.claim('webhook:a', 'gw2', LEASE_MS))?.delivery, lost?.delivery);
    await alerts.settle(lost?.delivery ?? 0, 'gw1', { kind: 'given_up', answer: 'late' });
    assert.equal((await alerts.list(1))[0]?.state, 'pending', 'somebody else has claimed it since');
  });

  test('a full outbox takes no event, and its mark stays as it was', async (t) => {
    const { alerts } = (await open(t)).state;
    const targets = Array.from({ length: MAX_PENDING }, (_, i) => `webhook:${i}`);
    assert.equal(await alerts.change(first('s'), alertOf('a', targets)), 'done');
    assert.equal(await alerts.change(first('s2'), alertOf('b')), 'full');
    assert.equal(await alerts.change(first('s3'), undefined), 'done');
    assert.deepEqual([...(await alerts.marks()).keys()].toSorted(), ['s', 's3']);
  });

  test('the account is judged by its balance, all that was charged, and the last credit entry', async (t) => {
    const stage = await open(t);
    const { alerts, account } = stage.state;
    assert.equal((await alerts.account()).lastEntry, undefined);
    await account.enter(5n * USD, '', NOON);
    const { id } = await makeKey(stage.state);
    await enter(stage, holdOf(id, { holdNanos: USD }), { costNanos: USD });
    await account.enter(2n * USD, '', NOON + 1);
    await stage.hold(holdOf(id, { holdNanos: 7n }));
    const { lastEntry, ...figures } = await alerts.account();
    assert.deepEqual(figures, { balanceNanos: 6n * USD, heldNanos: 7n, chargedNanos: USD });
    assert.equal(lastEntry?.balanceNanos, 6n * USD);
  });
});
