/**
 * Makes a state file like that of a gateway after years: many keys, and a long journal with
 * matching sums.
 */
import { DAY_MS } from '../../src/core/clock.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';

export interface Size {
  readonly keys: number;
  readonly rows: number;
}

/** How many days the rows are spread over, up to now. */
const DAYS = 90;
const STEP_ROWS = 500_000;

/** Called with the current step, and how much of it is done. */
export type Progress = (what: string, done: number, of: number) => void;

/** Creates the file at `path`, which must not exist. Its rows are random; its sums are right. */
export function makeLargeState(path: string, { keys, rows }: Size, onProgress: Progress): void {
  const { database } = openDatabase(path, 'crash');
  try {
    // It does not matter if this file is lost in a crash.
    database.pragma('synchronous = OFF');
    bookOf(database).account.enter(1_000_000_000_000_000n, 'to start with', Date.now());
    onProgress('keys', 0, keys);
    makeKeys(database, keys);
    for (let done = 0; done < rows; done += STEP_ROWS) {
      onProgress('requests', done, rows);
      makeRows(database, { keys, rows }, done, Math.min(rows, done + STEP_ROWS));
    }
    onProgress('sums', 0, 1);
    makeSums(database);
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

const KEY_ID = "printf('key_%026d', n)";

function makeKeys(database: Sqlite, count: number): void {
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $count)
       INSERT INTO keys (id, name, hash, preview, state, created_at_ms)
       SELECT ${KEY_ID}, printf('app-%06d', n), lower(hex(randomblob(32))), printf('sk-inf-…%04d', n % 10000), 'enabled', $madeAt + n
       FROM numbers`,
    )
    .run({ count, madeAt: BigInt(Date.now() - (DAYS + 1) * DAY_MS) });
}

/**
 * As with real customers, a few keys make most requests. The usage of one request in twenty is
 * counted, not reported.
 */
function makeRows(database: Sqlite, { keys, rows }: Size, from: number, to: number): void {
  database
    .prepare(
      `WITH RECURSIVE numbers (i) AS (SELECT $from UNION ALL SELECT i + 1 FROM numbers WHERE i < $to - 1),
         -- Drawn once, whatever is made of it.
         drawn AS MATERIALIZED (
           SELECT i, abs(random() % 1000000) / 1000000.0 AS r, abs(random() % 4) AS model, abs(random() % 100) AS luck,
             200 + abs(random() % 4000) AS input, 1 + abs(random() % 1000) AS output,
             CAST($begin + (i + 1.0) * $span / $rows AS INTEGER) AS at
           FROM numbers),
         placed AS (SELECT *, 1 + CAST(r * r * r * $keys AS INTEGER) AS n FROM drawn)
       INSERT INTO journal (request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens,
         cached_tokens, cache_write_tokens, completion_tokens, cost_nanos, hold_nanos, completion_id, first_byte_ms)
       SELECT printf('req_%010x%s', i, lower(hex(randomblob(8)))), ${KEY_ID}, printf('bench/model-%d', model), at, at + output,
         CASE WHEN luck < 2 THEN 'upstream_error' WHEN luck < 4 THEN 'cancelled' ELSE 'ok' END,
         CASE WHEN luck < 5 THEN 'counted' ELSE 'reported' END, input, input / 4, 0, output,
         input * 150 + output * 600, input * 150 + 2000 * 600, printf('chatcmpl-%s', lower(hex(randomblob(12)))), 80 + output / 10
       FROM placed`,
    )
    .run({
      from: BigInt(from),
      to: BigInt(to),
      rows,
      keys,
      begin: Date.now() - DAYS * DAY_MS,
      span: DAYS * DAY_MS - 120_000,
    });
}

const COLUMNS = `key_id, model, source, requests, errors, prompt_tokens, cached_tokens, cache_write_tokens,
  completion_tokens, cost_nanos`;
const SUMS = `count(*), sum(outcome NOT IN ('ok', 'cancelled')), sum(prompt_tokens), sum(cached_tokens),
  sum(cache_write_tokens), sum(completion_tokens), sum(cost_nanos)`;

function makeSums(database: Sqlite): void {
  database.exec(`
    INSERT INTO usage_days (day, ${COLUMNS}) SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch'), key_id, model, source, ${SUMS}
      FROM journal GROUP BY 1, 2, 3, 4;
    INSERT INTO usage_months (month, ${COLUMNS}, last_at_ms) SELECT strftime('%Y-%m', admitted_at_ms / 1000, 'unixepoch'), key_id, model, source, ${SUMS},
      max(admitted_at_ms) FROM journal GROUP BY 1, 2, 3, 4;
    UPDATE account SET balance_nanos = balance_nanos - (SELECT coalesce(sum(cost_nanos), 0) FROM journal);`);
}
