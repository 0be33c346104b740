/**
 * Operations of tests on a state file that they have open: creating keys, and reading the journal.
 */
import assert from 'node:assert/strict';
import { mintKey } from '../../src/core/api-key.ts';
import { newId } from '../../src/core/ids.ts';
import type { BookAtOnce } from '../../src/state/book.ts';
import type { NewKey } from '../../src/state/keys.ts';
import type { Sqlite } from '../../src/state/sqlite/database.ts';
import { countHolds } from './books.ts';
import { until } from './wait.ts';

export interface TestKey {
  readonly id: string;
  readonly secret: string;
}

/** A row of the journal. */
export interface Row {
  readonly request_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly upstream: string | null;
  readonly hold_nanos: number;
  readonly outcome: string;
  readonly source: string;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly cache_write_tokens: number;
  readonly completion_tokens: number;
  readonly cost_nanos: number;
  readonly failure_reason: string | null;
  readonly failure_status: number | null;
  readonly failure_message: string | null;
  readonly by_user: string | null;
  readonly by_tag: string | null;
  readonly by_app: string | null;
  readonly price: string | null;
}

export type KeySettings = Partial<NewKey>;

/** The place of a key that is in no group, and that no other has made. */
export const ALONE = { groupId: null, parentId: null, mayCreate: false, userLimits: null, isLeashed: false } as const;

/** Creates a key, as another process would. */
export function makeKey(keys: BookAtOnce['keys'], settings: KeySettings = {}, secret = mintKey()): TestKey {
  const none = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
  const change = keys.create(secret, { ...none, name: newId('name', Date.now()), ...settings }, Date.now());
  assert.ok(change.kind === 'done');
  return { id: change.key.id, secret };
}

/** The journal rows of a key, the oldest first. */
export function rowsOf(database: Sqlite, key: TestKey): Row[] {
  return database.prepare('SELECT * FROM journal WHERE key_id = ? ORDER BY id').all(key.id) as Row[];
}

/** Waits for the only journal row of a key, and until the key holds nothing. */
export async function onlyRowOf(database: Sqlite, key: TestKey): Promise<Row> {
  await until(() => rowsOf(database, key).length > 0 && countHolds(database, key.id) === 0);
  const [row, ...others] = rowsOf(database, key);
  assert.equal(others.length, 0);
  return row as Row;
}
