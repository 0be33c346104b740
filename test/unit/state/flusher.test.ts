/** The thread that syncs the log: each sync ends, its errors are kept, and a thread that dies leaves nobody waiting. */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Flusher } from '../../../src/state/sqlite/flusher.ts';
import { bounded, until } from '../../support/wait.ts';

const EINVAL = -22;

async function start(t: TestContext, path?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-flusher-'));
  const descriptor = openSync(path ?? join(directory, 'log'), 'w');
  const flusher = new Flusher(descriptor);
  t.after(async () => {
    await flusher.close();
    closeSync(descriptor);
    rmSync(directory, { recursive: true });
  });
  await until(() => flusher.isReady);
  return { flusher, descriptor, directory };
}

test('each sync ends, whether the loop is idle or busy meanwhile', async (t) => {
  const { flusher, descriptor } = await start(t);
  for (let at = 0; at < 200; at++) {
    writeSync(descriptor, 'bytes');
    const number = flusher.want();
    if (at % 2 === 0) await turn();
    assert.equal(await bounded(flusher.ended(number), `sync ${at}`), 0);
  }
});

test('a sync that is wanted while another one runs needs no second call', async (t) => {
  const { flusher } = await start(t);
  const [first, second] = [flusher.want(), flusher.want()];
  assert.equal(await bounded(flusher.ended(first), 'the first sync'), 0);
  assert.equal(await bounded(flusher.ended(second), 'the second sync'), 0);
  assert.equal(await bounded(flusher.ended(first), 'the first sync again'), 0);
});

test('the error of a sync stays until it is forgiven, also when a later sync succeeds', async (t) => {
  const { flusher, descriptor, directory } = await start(t, '/dev/null');
  assert.equal(await bounded(flusher.ended(flusher.want()), 'the failed sync'), EINVAL);
  // From now on the descriptor is that of a file that can be synced.
  closeSync(descriptor);
  const others: number[] = [];
  let opened = openSync(join(directory, 'log'), 'w');
  while (opened !== descriptor && others.length < 100) {
    others.push(opened);
    opened = openSync(join(directory, 'log'), 'w');
  }
  for (const other of others) closeSync(other);
  assert.equal(opened, descriptor);
  assert.equal(await bounded(flusher.ended(flusher.want()), 'a later sync'), EINVAL);
  flusher.forgive();
  assert.equal(await bounded(flusher.ended(flusher.want()), 'a sync after that'), 0);
});

test('a thread that dies ends every wait', async (t) => {
  const { flusher } = await start(t);
  const waiting = flusher.ended((flusher.want() + 1) | 0);
  await flusher.close();
  assert.equal(await bounded(waiting, 'the end of the wait'), undefined);
  assert.equal(flusher.isReady, false);
});
