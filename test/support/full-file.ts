/** A state file with something in everything that a state has, and what is in a file. */

import assert from 'node:assert/strict';
import type { HoldRow } from '../../src/state/journal.ts';
import { type NewGroup, userId } from '../../src/state/levels.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { immediately, openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { Journal } from '../../src/state/sqlite/journal.ts';
import { RefusalWriter } from '../../src/state/sqlite/refusals.ts';
import { dropOldRows } from '../../src/state/sqlite/retention.ts';
import { daysAgo, drawPast, writePast } from './past.ts';
import { makeKey } from './state.ts';

export const TABLES = [
  'keys',
  'account',
  'credit_entries',
  'holds',
  'journal',
  'usage_days',
  'usage_months',
  'sealed_days',
  'groups',
  'users',
  'level_days',
  'level_months',
  'sealed_levels',
  'refusals',
  'budgets',
  'budget_steps',
  'usage_names',
  'usage_name_keys',
  'usage_name_days',
];

/** Everything in a state file, by table. */
export function contentsOf(path: string): Record<string, string[]> {
  const { database } = openDatabase(path);
  const rowsOf = (name: string) =>
    database
      .prepare(`SELECT * FROM ${name}`)
      .all()
      .map((row) => JSON.stringify(row))
      .toSorted();
  const tables = TABLES.map((name) => [name, rowsOf(name)]);
  database.close();
  return Object.fromEntries(tables);
}

export function edit(path: string, work: (database: Sqlite) => void): void {
  const { database } = openDatabase(path);
  work(database);
  database.close();
}

/** An end user whose name has what a name can have. */
const USER = 'zo\\ë "\0';
const BUDGETS = ['day', 'total', '30d'].map((period) => ({ period, limitNanos: 10_000_000_000n }));
/** The last request was for somebody. */
const NAMED = `UPDATE journal SET by_user = 'ali"ce é' WHERE id = (SELECT max(id) FROM journal);
  INSERT INTO usage_names (month, kind, name, id)
    SELECT strftime('%Y-%m', admitted_at_ms / 1000, 'unixepoch'), 'user', by_user, 1 FROM journal WHERE by_user IS NOT NULL;
  INSERT INTO usage_name_keys SELECT month, kind, key_id, name FROM usage_names JOIN journal ON by_user = name;
  INSERT INTO usage_name_days SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch'), 'user', by_user, key_id, model, 1,
    outcome NOT IN ('ok', 'cancelled'), prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens,
    cost_nanos FROM journal WHERE by_user IS NOT NULL`;

function openHold(keyId: string): HoldRow {
  const tokens = { inputTokens: 100, outputTokens: 200 };
  return { requestId: 'req_open', keyId, model: 'mock/paid', admittedAtMs: Date.now(), ...tokens, holdNanos: 12_345n };
}

/**
 * Puts a key into a group in a group, with limits of all kinds for both and for their end users. Returns what a request of
 * an end user is booked to.
 */
function fillLevels(database: Sqlite, keyId: string): string[] {
  const { keys, groups } = bookOf(database);
  const limits = { rpm: 1_000, tpm: 2_000_000, concurrency: 30, spendLimitNanos: 40_000_000_000n, budgets: BUDGETS };
  const make = (group: NewGroup): string => {
    const change = groups.create(group, daysAgo(41));
    assert.ok(change.kind === 'done', change.kind);
    return change.group.id;
  };
  const outer = make({ name: 'forschung é', ...limits, allowlist: ['mock/a', 'mock/b', 'mock/paid'] });
  const inner = make({ name: 'nlp', groupId: outer, userLimits: { ...limits, required: true } });
  keys.place(keyId, inner);
  groups.setUser({ ...limits, ownerId: inner, name: USER, state: 'disabled' }, daysAgo(41));
  groups.setState(make({ name: 'gone' }), 'deleted');
  return [userId(inner, USER), inner, outer];
}

/** A file with something in every table and every kind of key, and a request that a crash left open. */
export function fill(path: string): void {
  edit(path, (database) => {
    const { keys, account } = bookOf(database);
    account.enter(50_000_000_000n, 'first', 5);
    const used = makeKey(keys, { rpm: 42, spendLimitNanos: 3_000_000_000n, allowlist: ['mock/echo', 'mock/paid'] });
    const gone = makeKey(keys);
    keys.setState(gone.id, 'deleted');
    const levels = fillLevels(database, used.id);
    const past = drawPast([used.id, gone.id], 300, daysAgo(40), daysAgo(0));
    writePast(
      database,
      past.map((request) => (request.keyId === used.id ? { ...request, levels } : request)),
    );
    const open = { ...openHold(used.id), levels };
    const journal = new Journal(database);
    immediately(database, () => {
      journal.hold(open);
      journal.writeHolds(1, () => [open]);
    });
    while (dropOldRows(database, daysAgo(20)));
    const { id } = makeKey(keys, { rpm: 7, tpm: 8, concurrency: 9, spendLimitNanos: 10n, allowlist: ['a', 'b "é'] });
    keys.setState(makeKey(keys, { allowlist: [], isLeashed: true, parentId: id }).id, 'disabled');
    keys.setLimits(used.id, { budgets: () => BUDGETS, expiresAtMs: Date.UTC(2099, 0) });
    const refusal = { month: '2026-11', keyId: id, code: 'rate_limited', reason: 'tpm', requests: 3, lastAtMs: 5 };
    new RefusalWriter(database).write([refusal]);
    // What only a failed request has, and an id as only a host would make it.
    database.exec(`UPDATE journal SET failure_reason = 'broken', failure_status = 503, failure_message = 'é\n', upstream = 'main',
      attempts = 2, first_byte_ms = 31, requested_model = 'x', completion_id = 'chatcmpl-1', cache_write_tokens = 0
      WHERE outcome = 'upstream_error'`);
    database.exec(NAMED);
  });
}
