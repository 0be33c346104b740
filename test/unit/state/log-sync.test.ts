/** A sync of the log covers every commit before it, whether it was prepared while another one ran or not. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { Flusher } from '../../../src/state/sqlite/flusher.ts';
import { LogSync } from '../../../src/state/sqlite/log-sync.ts';
import { StateFileError } from '../../../src/state/sqlite/state-file.ts';
import { until } from '../../support/wait.ts';

async function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-log-sync-'));
  const { database } = openDatabase(join(directory, 'state.db'));
  const want = t.mock.method(Flusher.prototype, 'want');
  const ready = t.mock.getter(Flusher.prototype, 'isReady');
  const log = new LogSync(database);
  t.after(async () => {
    await log.close();
    database.close();
    rmSync(directory, { recursive: true });
  });
  const commit = () => {
    database.exec('UPDATE account SET balance_nanos = balance_nanos + 1');
    log.noteCommit();
  };
  commit();
  log.prepare();
  await until(() => {
    log.prepare();
    return ready.mock.calls.at(-1)?.result === true;
  });
  await log.sync();
  return { log, commit, wanted: () => want.mock.callCount() };
}

test('a prepared sync is wanted once, and covers what was committed before it alone', async (t) => {
  const { log, commit, wanted } = await open(t);
  const before = wanted();
  commit();
  log.prepare();
  log.prepare();
  await log.sync();
  assert.equal(wanted(), before + 1);
  commit();
  log.prepare();
  commit();
  await log.sync();
  assert.equal(wanted(), before + 3);
});

test('a failed sync fails, and after the log was copied into the file the next one succeeds', async (t) => {
  const { log, commit } = await open(t);
  const ended = t.mock.method(Flusher.prototype, 'ended', async () => -5);
  commit();
  await assert.rejects(log.sync(), (error) => error instanceof StateFileError && /EIO/.test(error.message));
  ended.mock.restore();
  log.repair();
  await log.sync();
});

test('without its thread, a sync goes by another way', async (t) => {
  const { log, commit } = await open(t);
  const ended = t.mock.method(Flusher.prototype, 'ended', async () => undefined);
  commit();
  await log.sync();
  assert.equal(ended.mock.callCount(), 1);
});
