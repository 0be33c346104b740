/** What gateways put into the outbox and what they do not: bursts, several gateways, faults of the storage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AlertEvent } from '../../src/alerts/event.ts';
import { REST_MS } from '../../src/alerts/judge.ts';
import type { Observation } from '../../src/alerts/observation.ts';
import { BURST, REFILL_MS } from '../../src/alerts/rate.ts';
import { StorageWatch } from '../../src/alerts/storage-watch.ts';
import { type WatchedState, Watcher, type WatcherEvents } from '../../src/alerts/watcher.ts';
import type { WebhookTarget } from '../../src/core/alert-targets.ts';
import { emptyState } from '../../src/state/open.ts';
import { makeKey } from '../state/stage.ts';
import { Receiver } from './receiver.ts';

const NOTHING_SEEN: Observation = { upstreams: [], refused: [], storageFault: undefined };
const SILENT: WatcherEvents = { onFailure: () => {}, onFull: () => {} };

function targetOf(receiver: Receiver): WebhookTarget {
  const secret = undefined;
  return {
    kind: 'webhook',
    name: 'webhook 1',
    url: receiver.url(),
    secret,
    format: 'json',
    missingVariable: undefined,
  };
}

test('a burst is told bit by bit, the worst first, nothing is lost, and two gateways tell it once', async (t) => {
  const receiver = await Receiver.start(t);
  const opened = await emptyState();
  t.after(() => opened.close());
  const keys = await Promise.all(Array.from({ length: BURST + 5 }, () => makeKey(opened, { spendLimitNanos: 100n })));
  const charged = new Map(keys.map(({ id }, i) => [id, i < 10 ? 80n : 100n]));
  const state: WatchedState = {
    ...opened,
    // Each looks as if somebody had written.
    hasChanged: async () => true,
    usage: {
      ...opened.usage,
      monthsOf: async (ids) =>
        new Map(ids.map((id) => [id, { requests: 1, tokens: 1, costNanos: charged.get(id) ?? 0n }])),
    },
  };
  const nowMs = Date.now();
  const options = { targets: [targetOf(receiver)], isCreditEnforced: true };
  const [one, two] = ['eu-1', 'eu-2'].map((gateway) => new Watcher(state, { ...options, gateway }, SILENT, nowMs));
  assert.ok(one !== undefined && two !== undefined);
  t.after(() => Promise.all([one.close(), two.close()]));
  const events = async () =>
    (await opened.alerts.list(1_000)).map(({ body }) => JSON.parse(body) as AlertEvent).toReversed();
  await one.look(NOTHING_SEEN, nowMs);
  const severities = (await events()).map(({ severity }) => severity);
  assert.deepEqual(severities, [...Array(BURST - 5).fill('critical'), ...Array(5).fill('warning')]);
  // The other one has room for the rest.
  await two.look(NOTHING_SEEN, nowMs);
  await two.look(NOTHING_SEEN, nowMs + REFILL_MS);
  await one.look(NOTHING_SEEN, nowMs + REFILL_MS);
  const told = (await events()).map(({ key }) => key?.id);
  assert.deepEqual(told.toSorted(), keys.map(({ id }) => id).toSorted());
  await receiver.got(told.length);
});

test('while the state cannot be written nothing is read or written there', async (t) => {
  const receiver = await Receiver.start(t);
  const fail = async () => assert.fail('the state is asked');
  const opened = await emptyState();
  t.after(() => opened.close());
  const alerts = { ...opened.alerts, marks: fail, claim: fail, change: fail };
  const options = { targets: [targetOf(receiver)], gateway: 'eu-1', isCreditEnforced: true };
  const watcher = new Watcher({ ...opened, alerts, hasChanged: fail }, options, SILENT);
  t.after(() => watcher.close());
  await watcher.look({ ...NOTHING_SEEN, storageFault: 'the disk is full' });
  await receiver.got(1);
  const [event] = receiver.events;
  assert.deepEqual([event?.kind, event?.severity, event?.gateway], ['storage_fault', 'critical', 'eu-1']);
  assert.equal(event?.text, 'the state cannot be written, and all requests are refused: the disk is full');
});

describe('a storage fault', () => {
  test('is told once, then that it is over, and again only after a while', async (t) => {
    const receiver = await Receiver.start(t);
    const watch = new StorageWatch([targetOf(receiver)], 'eu-1');
    t.after(() => watch.close());
    const nowMs = Date.now();
    const sights: readonly (readonly [fault: string | undefined, afterMs: number])[] = [
      [undefined, 0],
      ['full', 0],
      ['full', 1_000],
      [undefined, 2_000],
      ['full', 3_000],
      [undefined, 4_000],
      ['full', REST_MS],
    ];
    for (const [fault, afterMs] of sights) watch.look(fault, nowMs + afterMs);
    await receiver.got(3);
    assert.deepEqual(
      receiver.events.map(({ kind }) => kind),
      ['storage_fault', 'storage_recovered', 'storage_fault'],
    );
  });
});
