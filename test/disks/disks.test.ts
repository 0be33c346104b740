/**
 * Disk problems, in short: a running gateway whose file cannot be written. `npm run prove -- disks`
 * runs more cases.
 */
import assert from 'node:assert/strict';
import { existsSync, unlinkSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { auditDifferences, readState } from '../crash/state-file.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { until } from '../support/wait.ts';
import { FAULTS } from './faults.ts';
import { waitOutLock } from './short-lock.ts';
import { Site } from './site.ts';
import { Trial } from './trial.ts';

/** The tests mostly wait: for timeouts of the gateway, and for its processes. */
const AT_ONCE = 2 * CONCURRENCY;
const SOON_MS = 100;
const LOCKED_MS = 1_000;
/** A lock, a file that is not the one that was opened, and damage. All others are in the ledger in small. */
const SHORT = FAULTS.filter(({ what }) =>
  ['locked by another program', 'replaced by a copy', 'a page overwritten'].includes(what),
);
const FULL = FAULTS.filter(({ what }) => what === 'disk full');

async function served(t: TestContext): Promise<Site> {
  const site = await Site.open(t);
  await site.prepare();
  await site.start();
  return site;
}

describe('a gateway whose file cannot be written', { concurrency: AT_ONCE }, () => {
  for (const fault of FULL) {
    test(`reports at its end what stays open, and the next start charges that as held: ${fault.what}`, async (t) => {
      const { deviations } = await new Trial(await served(t), fault).runToEnd();
      assert.deepEqual(deviations, []);
    });
  }

  for (const fault of SHORT) {
    // In a damaged file, a write that succeeds proves nothing: only a request can notice that it is repaired.
    const isSeenByItself = fault.what !== 'a page overwritten';
    const alone = isSeenByItself ? ', and notices by itself that the file can be written again' : '';
    test(`admits nothing, completes what is in flight, settles all of it afterwards${alone}: ${fault.what}`, async (t) => {
      const { deviations } = await new Trial(await served(t), fault).run(0, isSeenByItself ? 'twice' : 'once');
      assert.deepEqual(deviations, []);
    });
  }

  test('shuts down cleanly if the file can be written again before its drain time is over', async (t) => {
    const [fault] = FULL;
    assert.ok(fault);
    const { deviations } = await new Trial(await served(t), fault).runToEndRepaired();
    assert.deepEqual(deviations, []);
  });

  test(`waits for another program that locks it for a moment, and fails no request`, async (t) => {
    const { deviations } = await waitOutLock(await served(t), LOCKED_MS);
    assert.deepEqual(deviations, []);
  });

  test('sends the request while its hold is on its way to the disk, and nothing of the answer before', async (t) => {
    const site = await served(t);
    site.order('slow');
    const running = [await site.begin(true), await site.begin(false)];
    running[1]?.finish();
    // Time for bytes that must not come.
    await pause(SOON_MS);
    assert.deepEqual(
      running.map(({ status, text }) => [status, text]),
      [
        [0, ''],
        [0, ''],
      ],
    );
    site.order('none');
    await until(() => running[0]?.text.includes('first') === true);
    running[0]?.finish();
    await Promise.all(running.map(({ ended }) => ended));
    assert.deepEqual(
      running.map(({ status }) => status),
      [200, 200],
    );
    assert.equal(await site.serving.stop(), 0);
  });

  test('cannot sync: admits nothing more, and answers what waits for the disk once its log is safe', async (t) => {
    const site = await served(t);
    const held = await site.hold(true);
    site.order('unsyncable');
    const waiting = site.ask();
    await site.serving.logged(/the disk reports an error; check the disk \(EIO\)/);
    const { status, text } = await site.ask();
    assert.deepEqual([status, JSON.parse(text).error.code], [500, 'internal_error']);
    assert.equal((await site.get('/readyz')).text, '{"status":"storage_fault"}');
    assert.equal(site.upstream.calls.length, 2);
    held.finish();
    await pause(SOON_MS);
    assert.equal(held.hasEnded, false);
    site.order('none');
    await until(async () => (await site.get('/readyz')).status === 200);
    await held.ended;
    assert.equal((await waiting).status, 200);
    assert.equal((await site.ask()).status, 200);
    assert.equal(await site.serving.stop(), 0);
    assert.deepEqual(auditDifferences(site.statePath), []);
    assert.equal(readState(site.statePath).journal.length, 3);
  });

  test('fails every request once the file was deleted, and the next start creates a new one and says so', async (t) => {
    const site = await served(t);
    unlinkSync(site.statePath);
    for (let count = 0; count < 3; count++) assert.equal((await site.ask()).status, 500);
    assert.equal((await site.get('/readyz')).text, '{"status":"storage_fault"}');
    assert.equal(existsSync(site.statePath), false);
    assert.equal(site.upstream.calls.length, 0);
    assert.equal(await site.serving.stop(), 0);
    const next = await site.start();
    await next.logged(/created the state file/);
    await next.logged(/balance 0\.00 USD, 0 keys/);
    assert.equal(await next.stop(), 0);
  });
});
