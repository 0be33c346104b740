/** Takeovers that fail or may not be: the gateway that runs goes on, or what it leaves open is charged as held. */
import assert from 'node:assert/strict';
import { closeSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { askToHandOver, readSnapshot } from '../../src/control/client.ts';
import { type Greeting, meetingPath, type TakeoverOffer } from '../../src/control/protocol.ts';
import { tryLockState } from '../../src/state/sqlite/lock.ts';
import { Predecessor } from '../../src/takeover/predecessor.ts';
import { OFFER } from '../../src/takeover/protocol.ts';
import { CHANGEABLE_PROGRAM, type Serving } from '../support/cli.ts';
import { until } from '../support/wait.ts';
import { Site } from './site.ts';
import { outcomesOf, type Sent, send } from './traffic.ts';

const SLOW_MIGRATION = fileURLToPath(new URL('./slow-migration.ts', import.meta.url));

/** This process as the next one. */
async function meet(site: Site, offer: Partial<TakeoverOffer> = {}): Promise<Predecessor> {
  const path = site.controlPath;
  const greeting = await askToHandOver(path, { ...OFFER, ...offer });
  return Predecessor.meet(meetingPath(path), greeting as Greeting);
}

function portOf({ url }: Serving): number {
  return Number(new URL(url).port);
}

async function openStreams(site: Site, serving: Serving, key: string, count: number): Promise<Promise<Sent>[]> {
  const open = site.streams;
  const port = portOf(serving);
  const sent = Array.from({ length: count }, () => send({ port, key, model: 'host/stream', stream: true }));
  await until(() => site.streams === open + count);
  return sent;
}

test('takeovers that fail, and processes that die', async (t) => {
  const site = await Site.open(t);
  site.configure({ threads: 2 });
  const first = await site.takeOver();
  const { key } = await site.key('app');
  const ask = (serving: Serving) => send({ port: portOf(serving), key, model: 'mock/echo' });
  const hasGivenUp = (times: number) =>
    until(() => first.log.filter(({ msg }) => /^not handed over, and serving on/.test(msg)).length === times);
  const ofFirst = await openStreams(site, first, key, 3);

  await t.test('with nothing to take over it starts, and says so', async () => {
    await first.logged(/^no gateway runs on .*state\.db/);
  });

  await t.test('a process that speaks another version is refused before anything changes', async () => {
    await assert.rejects(meet(site, { takeover: 99 }), /too different for a takeover; stop the running gateway/);
    assert.deepEqual(outcomesOf([await ask(first)]), { 200: 1 });
  });

  await t.test('one that ends before it has the sockets changes nothing', async () => {
    (await meet(site)).leave();
    await hasGivenUp(1);
    assert.deepEqual(outcomesOf([await ask(first)]), { 200: 1 });
  });

  await t.test('nor does one that ends with them', async () => {
    const next = await meet(site);
    const descriptors = await next.takeSockets(3);
    assert.equal(descriptors.length, 3);
    next.leave();
    for (const descriptor of descriptors) closeSync(descriptor);
    await hasGivenUp(2);
    assert.deepEqual(outcomesOf([await ask(first)]), { 200: 1 });
  });

  await t.test(
    'nor one that ends with the state; requests wait meanwhile, and a second takeover is refused',
    async () => {
      const next = await meet(site);
      await next.takeSockets(0);
      assert.equal((await next.takeState())?.open.length, 3);
      const waiting = ask(first);
      await assert.rejects(meet(site), /another process is taking over already/);
      next.leave();
      await hasGivenUp(3);
      assert.deepEqual(outcomesOf([await waiting, await ask(first)]), { 200: 2 });
    },
  );

  await t.test(
    'nor one that has the state and falls silent: requests wait for three seconds, and no longer',
    async () => {
      const next = await meet(site);
      await next.takeSockets(0);
      await next.takeState();
      const waiting = ask(first);
      assert.equal(tryLockState(site.place.statePath), undefined, 'it has not let go of the state');
      await first.logged(/^not handed over, and serving on: the next process did not open the state within 3 s/);
      assert.deepEqual(outcomesOf([await waiting, await ask(first)]), { 200: 2 });
      await assert.rejects(next.confirm(), /did not wait any longer, and goes on/);
      next.leave();
    },
  );

  await t.test('nor one whose version would have to change the tables first: it says so, and ends', async () => {
    const next = site.place.launch(['--import', SLOW_MIGRATION, CHANGEABLE_PROGRAM, 'serve', '--takeover']);
    assert.equal((await next.ended).status, 1);
    assert.match(next.text, /error: .*state\.db has tables of version \d+.*\n.*stop the running gateway/);
    await hasGivenUp(5);
    assert.deepEqual(outcomesOf([await ask(first)]), { 200: 1 });
  });

  site.configure({ listen: '127.0.0.2:0' });
  const second = await site.takeOver();

  await t.test('the new config names another address: that is opened, and the old one closed', async () => {
    await first.logged(/^handed over/);
    await assert.rejects(fetch(first.url));
    const { port } = await second.logged(/^listening/);
    assert.equal((await fetch(`http://127.0.0.2:${port}/readyz`)).status, 200);
  });

  await t.test('requests of the earlier process are shown, and can be stopped', async () => {
    const { stdout } = await site.place.run(['status']);
    assert.match(stdout, /in flight +3, of which 3 in process \d+, which has handed over/);
    const { live = [] } = (await readSnapshot(site.controlPath)) ?? {};
    assert.equal(live.length, 3);
    assert.equal((await site.place.run(['requests', 'stop', live[0]?.id ?? ''])).status, 0);
    await until(async () => (await readSnapshot(site.controlPath))?.in_flight === 2);
  });

  await t.test('the earlier process dies: what it has open is charged as held', async () => {
    first.signal('SIGKILL');
    await second.logged(/^charged the holds of 2 requests left open by a process that handed over/);
    await Promise.all(ofFirst);
    site.forgetStreams();
  });

  site.configure();
  const third = await site.takeOver();
  const ofThird = await openStreams(site, third, key, 3);
  const fourth = await site.takeOver();

  await t.test(
    'the next process dies: the earlier one cannot settle, and the start after it charges the holds',
    async () => {
      fourth.signal('SIGKILL');
      await third.logged(/^the process that took over has ended/);
      site.finishStreams();
      await Promise.all(ofThird);
      assert.equal((await third.ended).status, 1);
    },
  );

  const fifth = await site.takeOver();
  await fifth.logged(/^charged the holds of 3 requests left open by the last run/);
  const ofFifth = await openStreams(site, fifth, key, 1);
  site.configure({ timeouts: { drain: '1s' } });
  const last = await site.takeOver();

  await t.test('the next process is stopped: it waits for the earlier one, and both settle', async () => {
    assert.equal(await last.stop(), 0);
    assert.equal((await fifth.ended).status, 0);
    await Promise.all(ofFifth);
  });

  await t.test('all is in the journal once, and consistent', async () => {
    const held = site.journal().filter(({ source }) => source === 'held');
    assert.deepEqual(new Set(held.map(({ outcome }) => outcome)), new Set(['interrupted']));
    assert.equal(held.length, 5);
    assert.equal((await site.place.run(['audit'])).status, 0);
  });
});
