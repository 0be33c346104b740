/**
 * Loaded into `serve` before the program itself: makes its SQLite and its disk fail as a file of
 * orders says, in ways for which a test would otherwise need the rights of root, and measures by how
 * much the event loop is late.
 */
import fs, { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';

/** The file with the name of the current fault; empty if there is none. */
const { INF_GW_TEST_ORDERS: ORDERS = '' } = process.env;
const MORE_THAN_IS_FREE = 1_000_000;
const NO_BOUND = 1_000_000_000;
const LOOP_RESOLUTION_MS = 5;
const LOOK_MS = 5;

/** What runs before each statement. SQLite itself throws the errors. */
const BEFORE: Readonly<Record<string, (database: Database.Database) => void>> = {
  'BEGIN IMMEDIATE': (database) => database.pragma(`query_only = ${order() === 'read-only' ? 'ON' : 'OFF'}`),
  // On the commit: until then, the existing pages may suffice.
  COMMIT: (database) => {
    if (order() === 'full') overfill(database);
  },
};

function order(): string {
  return readFileSync(ORDERS, 'utf8');
}

function overfill(database: Database.Database): void {
  // SQLite uses the current number of pages if that is larger.
  database.pragma('max_page_count = 1');
  try {
    database.exec(`CREATE TABLE filler (bytes); INSERT INTO filler VALUES (zeroblob(${MORE_THAN_IS_FREE}))`);
  } finally {
    database.pragma(`max_page_count = ${NO_BOUND}`);
  }
}

const { prepare } = Database.prototype;
Database.prototype.prepare = function (this: Database.Database, sql: string) {
  const statement: Statement<unknown[]> = prepare.call(this, sql);
  const before = BEFORE[sql];
  if (before === undefined) return statement;
  const run = statement.run.bind(statement);
  return Object.assign(statement, {
    run: () => {
      before(this);
      return run();
    },
  });
} as typeof prepare;

const { pragma } = Database.prototype;
Database.prototype.pragma = function (this: Database.Database, source, options) {
  if (source.startsWith('wal_checkpoint') && order() === 'unsyncable') {
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  }
  return pragma.call(this, source, options);
} as typeof pragma;

const { fdatasync } = fs;
fs.fdatasync = ((descriptor: number, callback: fs.NoParamCallback) => {
  if (order() === 'unsyncable') return callback(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
  const timer = setInterval(() => {
    if (order() === 'slow') return;
    clearInterval(timer);
    fdatasync(descriptor, callback);
  }, LOOK_MS);
}) as typeof fdatasync;
const { fdatasyncSync } = fs;
const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
fs.fdatasyncSync = (descriptor: number) => {
  // Only the thread that syncs the log may wait.
  if (!isMainThread) {
    if (order() === 'unsyncable') throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', errno: -5 });
    while (order() === 'slow') Atomics.wait(cell, 0, 0, LOOK_MS);
  }
  fdatasyncSync(descriptor);
};
syncBuiltinESMExports();

/**
 * Writes its process id, and on a signal the longest delay of the event loop since the last one, in
 * milliseconds.
 */
function tellDelays(): void {
  const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delays.enable();
  writeFileSync(`${ORDERS}-pid`, String(process.pid));
  process.on('SIGUSR2', () => {
    writeFileSync(`${ORDERS}-new`, String(delays.max / 1e6));
    renameSync(`${ORDERS}-new`, `${ORDERS}-delay`);
    delays.reset();
  });
}

if (isMainThread) tellDelays();
