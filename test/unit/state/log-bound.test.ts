/**
 * SQLite's log stays bounded: it is truncated after a long reader, and restarts in spite of
 * overlapping readers.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { Checkpoints } from '../../../src/state/sqlite/checkpoints.ts';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';
import { LogBound } from '../../../src/state/sqlite/log-bound.ts';
import { runNode } from '../../support/cli.ts';
import { until } from '../../support/wait.ts';

const READER = fileURLToPath(new URL('../../writers/reader.ts', import.meta.url));
const CLOSER = fileURLToPath(new URL('./log-closer.ts', import.meta.url));
const LARGE_BYTES = 512 * 1024;
const READING_MS = 10_000;
/** Outlasts the growth of the log to its bound, on a busy machine too. */
const LONG_READING_MS = 600_000;
const BOUND_BYTES = 64 * 1024 * 1024;

function openLog(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-log-'));
  const path = join(folder, 'state.db');
  const { database } = openDatabase(path, 'crash');
  t.after(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  const account = bookOf(database).account;
  const size = () => statSync(`${path}-wal`).size;
  const enter = () => account.enter(1n, 'a line in the log', 0);
  return { path, database, size, enter };
}

/**
 * Readers in a process of their own: a transaction must stay open while this process writes. They read until they are stopped.
 */
async function startReaders(t: TestContext, path: string, count: number, eachMs: number): Promise<() => Promise<void>> {
  const readingMs = Math.max(READING_MS, eachMs);
  const child = spawn(process.execPath, [READER, path, readingMs, count, eachMs].map(String), {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(stop);
  await once(child.stdout, 'data');
  return stop;
}

describe('the log', () => {
  test('is truncated to 64 MB after a long reader made it grow', async (t) => {
    const { path, size, enter } = openLog(t);
    const stop = await startReaders(t, path, 1, LONG_READING_MS);
    while (size() < 1.1 * BOUND_BYTES) enter();
    await stop();
    // The first of these copies the whole log into the file, and the next one restarts the log.
    for (let entry = 0; entry < 3; entry++) enter();
    assert.ok(size() <= BOUND_BYTES, `${size()} bytes`);
  });

  test('restarts though readers overlap all the time', async (t) => {
    const { path, database, size, enter } = openLog(t);
    await startReaders(t, path, 2, 10);
    while (size() < LARGE_BYTES) {
      enter();
      await pause(1);
    }
    const large = size();
    new LogBound(database, LARGE_BYTES).keep();
    for (let entry = 0; entry < 10; entry++) enter();
    assert.equal(size(), large, 'what is written goes where the old log was');
  });

  test('does not wait for a single reader that holds most of it', async (t) => {
    const { path, database, size, enter } = openLog(t);
    await startReaders(t, path, 1, READING_MS);
    while (size() < LARGE_BYTES) enter();
    const large = size();
    // If this waited for the reader, the reader would have ended before the last of these.
    for (let look = 0; look < 10; look++) new LogBound(database, LARGE_BYTES).keep();
    enter();
    assert.ok(size() > large, 'the log goes on');
  });
});

describe('the log of a ledger', () => {
  test('is copied by a thread of its own while commits go on, and begins anew', async (t) => {
    const { path, database, enter } = openLog(t);
    const checkpoints = new Checkpoints(database);
    t.after(() => checkpoints.close());
    const log = () => database.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number };
    const before = statSync(path).size;
    for (let entry = 0; entry < 5_000; entry++) enter();
    assert.ok(log().log >= 5_000);
    assert.deepEqual([log().checkpointed, statSync(path).size], [0, before], 'commits copy nothing');
    assert.equal(checkpoints.keep(), undefined, 'nobody waits for what is copied beside commits');
    enter();
    await until(() => log().checkpointed >= 5_000);
    // The copy may not be known as ended yet.
    await until(async () => {
      await checkpoints.keep();
      return log().log < 5_000;
    });
    enter();
    assert.ok(log().log < 10, 'what is written goes where the old log was');
    assert.equal(integrityOf(database), 'ok');
  });

  test('is copied by the ledger where the thread cannot start', async (t) => {
    const { path, database, enter } = openLog(t);
    const checkpoints = new Checkpoints(database);
    t.after(() => checkpoints.close());
    const log = () => database.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number };
    for (let entry = 0; entry < 5_000; entry++) enter();
    renameSync(path, `${path}-elsewhere`);
    checkpoints.keep();
    await until(() => log().checkpointed >= 5_000);
    renameSync(`${path}-elsewhere`, path);
    enter();
    assert.ok(log().log < 10, 'what is written goes where the old log was');
    assert.equal(integrityOf(database), 'ok');
  });

  test('is truncated to 64 MB after a long reader made it grow', async (t) => {
    const { path, database, size, enter } = openLog(t);
    const checkpoints = new Checkpoints(database);
    t.after(() => checkpoints.close());
    const stop = await startReaders(t, path, 1, LONG_READING_MS);
    while (size() < 1.1 * BOUND_BYTES) enter();
    await stop();
    await until(async () => {
      await checkpoints.keep();
      return size() <= BOUND_BYTES;
    });
  });

  test('is closed before the process ends, also while it is copied', async (t) => {
    const { path, enter } = openLog(t);
    for (let entry = 0; entry < 3_000; entry++) enter();
    const { status, stderr } = await runNode([CLOSER, path], { directory: dirname(path) });
    assert.deepEqual([status, stderr], [0, '']);
  });
});

function integrityOf(database: Sqlite): unknown {
  return database.pragma('integrity_check', { simple: true });
}
