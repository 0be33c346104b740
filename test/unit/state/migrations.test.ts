/** Files of earlier versions: they open with the same figures, and everything works with them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { audit } from '../../../src/audit/audit.ts';
import { hashKey } from '../../../src/core/api-key.ts';
import { utcDay, utcMonth } from '../../../src/core/clock.ts';
import type { Admission, Identity } from '../../../src/ledger/ledger.ts';
import { LocalEngine } from '../../../src/ledger/local/local-engine.ts';
import { Account } from '../../../src/state/sqlite/account.ts';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';
import { KeyStore } from '../../../src/state/sqlite/keys.ts';
import { LedgerStore } from '../../../src/state/sqlite/ledger-store.ts';
import { MIGRATIONS } from '../../../src/state/sqlite/migrations.ts';
import { RequestStore } from '../../../src/state/sqlite/requests.ts';
import { UsageReader } from '../../../src/state/sqlite/usage.ts';
import { USAGE_GROUPS, type UsageGroup } from '../../../src/state/usage.ts';
import { assertBooksBalance } from '../../support/books.ts';
import {
  CREDIT_NANOS,
  type OldFile,
  type OldRow,
  OPEN_HOLD_NANOS,
  writeFirstVersion,
} from '../../support/first-version.ts';
import { HandClock, NOON } from '../ledger/bench.ts';

const RANGE = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/**
 * What the file has for every row of the journal that the first version wrote, and what it came to.
 */
const OLD_JOURNAL = `SELECT id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens,
  cached_tokens, completion_tokens, cost_nanos FROM journal ORDER BY id`;
const OLD_TABLES = [
  OLD_JOURNAL,
  `SELECT id, name, hash, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist, created_at_ms FROM keys
    ORDER BY id`,
  'SELECT * FROM account',
  'SELECT * FROM credit_entries',
  'SELECT request_id, key_id, model, admitted_at_ms, input_tokens, output_tokens, hold_nanos FROM holds',
];

/** A file of the first version, before and after the current program has opened it. */
function opened(test: TestContext): OldFile & { path: string; before: unknown; database: Sqlite } {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-migrations-'));
  test.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  const file = writeFirstVersion(path, NOON);
  const old = new DatabaseSync(path, { readBigInts: true });
  const before = OLD_TABLES.map((sql) =>
    old
      .prepare(sql)
      .all()
      .map((row) => ({ ...row })),
  );
  old.close();
  const { database, created } = openDatabase(path);
  test.after(() => database.close());
  assert.equal(created, false);
  return { ...file, path, before, database };
}

const costOf = (rows: readonly OldRow[]) => rows.reduce((sum, { costNanos }) => sum + costNanos, 0n);

function groupOf(row: OldRow, by: UsageGroup): string {
  switch (by) {
    case 'key':
      return row.keyId;
    case 'day':
      return utcDay(row.atMs);
    case 'month':
      return utcMonth(row.atMs);
    case 'model':
    case 'source':
      return row[by];
    default:
      // The first version kept no names.
      return '';
  }
}

/** Figures as lines of text, to compare them regardless of order. */
function shown(group: string | undefined, ...figures: readonly (number | bigint)[]): string {
  return [group, ...figures].join(' ');
}

function sumsByHand(rows: readonly OldRow[], by: UsageGroup): string[] {
  const groups = Map.groupBy(rows, (row) => groupOf(row, by));
  return [...groups].map(([group, own]) => {
    const errors = own.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'cancelled').length;
    const tokens = (count: (row: OldRow) => number) => own.reduce((sum, row) => sum + count(row), 0);
    const [prompt, completion] = [tokens((row) => row.promptTokens), tokens((row) => row.completionTokens)];
    return shown(group, own.length, errors, prompt, completion, costOf(own));
  });
}

function sumsReported(database: Sqlite, by: UsageGroup, sinceMs?: number, untilMs?: number): string[] {
  const { rows } = new UsageReader(database).report({ ...RANGE, by, sinceMs, untilMs });
  return rows.map((row) =>
    shown(
      by === 'key' ? row.keyId : row[by],
      row.requests,
      row.errors,
      row.promptTokens,
      row.completionTokens,
      row.costNanos,
    ),
  );
}

describe('a file of the first version', () => {
  test('keeps its journal, keys, credit, balance and holds', (t) => {
    const { database, before, rows } = opened(t);
    assert.equal(database.pragma('user_version', { simple: true }), MIGRATIONS.length);
    assert.deepEqual(
      OLD_TABLES.map((sql) => database.prepare(sql).safeIntegers().all()),
      before,
    );
    const account = new Account(database);
    assert.deepEqual(account.balance(), { balanceNanos: CREDIT_NANOS - costOf(rows), heldNanos: OPEN_HOLD_NANOS });
    assert.deepEqual(account.history(), [
      { atMs: 5, amountNanos: CREDIT_NANOS, balanceNanos: CREDIT_NANOS, note: 'first' },
    ]);
  });

  test('reports what its journal adds up to, in any group and range', (t) => {
    const { database, rows } = opened(t);
    const ranges = [
      [undefined, undefined],
      [NOON - 45 * 86_400_000, undefined],
      [Date.UTC(2026, 9, 1), NOON],
    ] as const;
    for (const by of USAGE_GROUPS) {
      for (const [since, until] of ranges) {
        const within = rows.filter(({ atMs }) => atMs >= (since ?? 0) && atMs < (until ?? Number.POSITIVE_INFINITY));
        assert.deepEqual(sumsReported(database, by, since, until).toSorted(), sumsByHand(within, by).toSorted(), by);
      }
    }
  });

  test('keeps the figures of each key and month', (t) => {
    const { database, rows, keyIds } = opened(t);
    const usage = new UsageReader(database);
    for (const keyId of keyIds) {
      for (const month of new Set(rows.map(({ atMs }) => utcMonth(atMs)))) {
        const own = rows.filter((row) => row.keyId === keyId && utcMonth(row.atMs) === month);
        assert.deepEqual(usage.monthOf(keyId, month), {
          requests: own.length,
          tokens: own.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0),
          costNanos: costOf(own),
        });
      }
    }
  });

  test('satisfies the auditor, before and after a gateway has settled its open holds', (t) => {
    const { database, path } = opened(t);
    const faulty = () => audit(path, { onProgress: () => {} }).filter(({ differences }) => differences.length > 0);
    assert.deepEqual(faulty(), []);
    engineOn(database);
    assert.deepEqual(faulty(), []);
    assertBooksBalance(database);
  });

  test('is migrated once: opening it again changes nothing', (t) => {
    const { database, path } = opened(t);
    const dump = () =>
      (database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]).map((table) =>
        database.prepare(`SELECT * FROM ${table}`).safeIntegers().all(),
      );
    const before = dump();
    openDatabase(path).database.close();
    assert.deepEqual(dump(), before);
  });

  test('has the same tables as a new file', (t) => {
    const { database, path } = opened(t);
    const fresh = openDatabase(join(path, '..', 'fresh.db')).database;
    t.after(() => fresh.close());
    const schema = (of: Sqlite) => of.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
    assert.deepEqual(schema(database), schema(fresh));
  });
});

/** The engine of a gateway that has started on a file. */
function engineOn(database: Sqlite) {
  const limits = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000, journalRetentionMs: undefined };
  const settings = { ...limits, creditEnforced: true };
  const engine = new LocalEngine(new LedgerStore(database, false), settings, new HandClock());
  return { engine, summary: engine.recover() };
}

describe('on a file of the first version', () => {
  test('a gateway charges open requests as held, and the charge can be corrected', (t) => {
    const { database, rows, openId } = opened(t);
    const balance = CREDIT_NANOS - costOf(rows);
    const { summary } = engineOn(database);
    assert.deepEqual(summary, {
      created: false,
      balanceNanos: balance - OPEN_HOLD_NANOS,
      keys: 1,
      recoveredHolds: 1,
    });
    assert.equal(new RequestStore(database).find(openId)?.end?.failure?.reason, 'interrupted');
    assert.equal(new RequestStore(database).correct(openId, 7n, NOON).kind, 'done');
    assert.equal(new Account(database).balance().balanceNanos, balance - 7n);
    assertBooksBalance(database);
  });

  test('a request that was charged as held can be corrected, though its hold is unknown', (t) => {
    const { database, rows } = opened(t);
    const held = rows.find(({ source }) => source === 'held') as OldRow;
    const store = new RequestStore(database);
    assert.equal(store.find(held.id)?.holdNanos, undefined);
    assert.equal(store.correct(held.id, held.costNanos + 9n, NOON).kind, 'done');
    assert.equal(new Account(database).balance().balanceNanos, CREDIT_NANOS - costOf(rows) - 9n);
    assertBooksBalance(database);
  });

  test('its keys work, with their limits and the charges of this month', (t) => {
    const { database, path, rows, secrets, keyIds } = opened(t);
    const { engine } = engineOn(database);
    const request = {
      requestId: 'req_new',
      keyHash: hashKey(secrets[0]),
      model: 'mock/paid',
      reservedTokens: 10,
      inputTokens: 10,
      outputTokens: 10,
      holdNanos: 1n,
    };
    const admit = () => engine.process([{ kind: 'admit', request }])[0] as Admission;
    const thisMonth = rows.filter((row) => row.keyId === keyIds[0] && utcMonth(row.atMs) === utcMonth(NOON));
    // The operator's commands use a connection of their own.
    const operator = openDatabase(path).database;
    t.after(() => operator.close());
    const keys = new KeyStore(operator);
    const charged = costOf(thisMonth) + OPEN_HOLD_NANOS;
    keys.setLimits('old', { spendLimitNanos: charged });
    const refused = admit();
    assert.equal(!refused.admitted && refused.refusal.reason, 'spend_limit_reached');
    keys.setLimits('old', { spendLimitNanos: charged + 10n });
    const admitted = admit();
    assert.ok(admitted.admitted);
    // The request that was open when the gateway ended was admitted within the last minute.
    assert.deepEqual([admitted.figures.limitRequests, admitted.figures.remainingRequests], [42, 40]);
    const gone = engine.process([{ kind: 'identify', keyHash: hashKey(secrets[1]) }])[0] as Identity;
    assert.equal(gone.kind, 'unknown');
  });
});
