/**
 * Disk problems, in short: a running gateway whose file cannot be written. `npm run test:disks`
 * runs more cases.
 */
import assert from 'node:assert/strict';
import { existsSync, unlinkSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { CONCURRENCY } from '../support/cli.ts';
import { FAULTS } from './faults.ts';
import { waitOutLock } from './short-lock.ts';
import { Site } from './site.ts';
import { Trial } from './trial.ts';

/** The tests mostly wait: for timeouts of the gateway, and for its processes. */
const AT_ONCE = 2 * CONCURRENCY;
/** The faults during which the gateway is stopped, which takes a while. */
const ENDS = ['disk full', 'moved away'];

async function served(t: TestContext): Promise<Site> {
  const site = await Site.open(t);
  await site.prepare();
  await site.start();
  return site;
}

describe('a gateway whose file cannot be written', { concurrency: AT_ONCE }, () => {
  for (const fault of FAULTS.filter(({ what }) => ENDS.includes(what))) {
    test(`reports at its end what stays open, and the next start charges that as held: ${fault.what}`, async (t) => {
      const { deviations } = await new Trial(await served(t), fault).runToEnd();
      assert.deepEqual(deviations, []);
    });
  }

  for (const fault of FAULTS) {
    test(`admits nothing, completes what is in flight, and settles all of it afterwards: ${fault.what}`, async (t) => {
      const { deviations } = await new Trial(await served(t), fault).run();
      assert.deepEqual(deviations, []);
    });
  }

  // In a damaged file, a write that succeeds proves nothing.
  for (const fault of FAULTS.filter(({ what }) => what !== 'a page overwritten')) {
    test(`notices by itself that the file can be written again: ${fault.what}`, async (t) => {
      const { deviations } = await new Trial(await served(t), fault).runIdle();
      assert.deepEqual(deviations, []);
    });
  }

  test('shuts down cleanly if the file can be written again before its drain time is over', async (t) => {
    const fault = FAULTS.find(({ what }) => what === 'disk full');
    assert.ok(fault);
    const { deviations } = await new Trial(await served(t), fault).runToEndRepaired();
    assert.deepEqual(deviations, []);
  });

  for (const milliseconds of [50, 1_000]) {
    test(`waits for another program that locks it for ${milliseconds} ms, and fails no request`, async (t) => {
      const { deviations } = await waitOutLock(await served(t), milliseconds);
      assert.deepEqual(deviations, []);
    });
  }

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
