/** The table of keys, for operators and for the ledger, which needs its operations synchronous. */

import { hashKey, isWellFormedKey, previewKey } from '../../core/api-key.ts';
import { newId } from '../../core/ids.ts';
import {
  type AllowlistEdit,
  type KeyChange,
  type KeyQuery,
  type KeyRecord,
  type KeyState,
  type LimitChanges,
  type NewKey,
  successorName,
} from '../keys.ts';
import { keyOf, type Row, storedAllowlist } from '../rows.ts';
import { BUDGETS_COLUMN, writeBudgets } from './budgets.ts';
import { immediately, type Sqlite } from './database.ts';
import { INNER_IDS, LEASHES_COLUMN } from './leashes.ts';

const STORED =
  'id, name, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist, created_at_ms, expires_at_ms';
const COLUMNS = `${STORED}, ${BUDGETS_COLUMN}, ${LEASHES_COLUMN}`;

export class KeyStore {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** The key with that hash, in any state. */
  byHash(hash: string): KeyRecord | undefined {
    return this.#one('hash = ?', hash);
  }

  find(idOrName: string): KeyRecord | undefined {
    if (isWellFormedKey(idOrName)) return this.byHash(hashKey(idOrName));
    return this.#one('id = ?', idOrName) ?? this.#one("name = ? AND state <> 'deleted'", idOrName);
  }

  findWithDeleted(idOrName: string): KeyRecord | undefined {
    return this.find(idOrName) ?? this.#one("name = ? AND state = 'deleted'", idOrName);
  }

  list({ withDeleted, afterId = '', limit = -1 }: KeyQuery): KeyRecord[] {
    const where = withDeleted ? 'id > ?' : "id > ? AND state <> 'deleted'";
    const rows = this.#prepare(`SELECT ${COLUMNS} FROM keys WHERE ${where} ORDER BY id LIMIT ?`).all(afterId, limit);
    return (rows as Row[]).map(keyOf);
  }

  innerIds(id: string): string[] {
    return this.#database.prepare(INNER_IDS).pluck().all(id) as string[];
  }

  count(): number {
    return this.#database.prepare("SELECT count(*) FROM keys WHERE state <> 'deleted'").pluck().get() as number;
  }

  create(secret: string, key: NewKey, wallMs: number): KeyChange {
    return immediately(this.#database, () => this.#insert(secret, key, wallMs));
  }

  rotate(idOrName: string, secret: string, wallMs: number): KeyChange {
    return immediately(this.#database, () => {
      const old = this.find(idOrName);
      if (old === undefined) return { kind: 'no_such_key' };
      if (old.state === 'deleted') return { kind: 'deleted' };
      for (let attempt = 1; ; attempt++) {
        const change = this.#insert(secret, { ...old, name: successorName(old.name, attempt) }, wallMs);
        if (change.kind !== 'name_taken') return change;
      }
    });
  }

  setState(idOrName: string, state: KeyState): KeyChange {
    return this.#change(idOrName, (key) => {
      this.#database.prepare('UPDATE keys SET state = ? WHERE id = ?').run(state, key.id);
    });
  }

  setLimits(idOrName: string, { budgets, ...limits }: LimitChanges, wallMs = Date.now()): KeyChange {
    return this.#change(idOrName, (key) => {
      const { rpm, tpm, concurrency, spendLimitNanos, expiresAtMs } = { ...key, ...limits };
      this.#database
        .prepare(
          'UPDATE keys SET rpm = ?, tpm = ?, concurrency = ?, spend_limit_nanos = ?, expires_at_ms = ? WHERE id = ?',
        )
        .run(rpm, tpm, concurrency, spendLimitNanos, expiresAtMs, key.id);
      if (budgets !== undefined) writeBudgets(this.#database, key, budgets(key.budgets), wallMs);
    });
  }

  editAllowlist(idOrName: string, edit: AllowlistEdit): KeyChange {
    return this.#change(idOrName, (key) => {
      const models = edit(key.allowlist);
      this.#database.prepare('UPDATE keys SET allowlist = ? WHERE id = ?').run(storedAllowlist(models), key.id);
    });
  }

  #change(idOrName: string, apply: (key: KeyRecord) => void): KeyChange {
    return immediately(this.#database, () => {
      const key = this.find(idOrName);
      if (key === undefined) return { kind: 'no_such_key' };
      if (key.state === 'deleted') return { kind: 'deleted' };
      apply(key);
      return { kind: 'done', key: this.find(key.id) as KeyRecord };
    });
  }

  #insert(secret: string, key: NewKey, wallMs: number): KeyChange {
    if (this.#one("name = ? AND state <> 'deleted'", key.name) !== undefined) return { kind: 'name_taken' };
    const id = newId('key', wallMs);
    this.#database
      .prepare(`INSERT INTO keys (${STORED}, hash) VALUES (?, ?, ?, 'enabled', ?, ?, ?, ?, ?, ?, ?, ?)`)
      .run(
        id,
        key.name,
        previewKey(secret),
        key.rpm,
        key.tpm,
        key.concurrency,
        key.spendLimitNanos,
        storedAllowlist(key.allowlist),
        wallMs,
        key.expiresAtMs ?? null,
        hashKey(secret),
      );
    writeBudgets(this.#database, { id, budgets: [] }, key.budgets ?? [], wallMs);
    const leashes = key.leash === undefined ? [] : [id, ...key.leash.outerIds];
    for (const outerId of leashes) {
      this.#database.prepare('INSERT INTO leashes (outer_id, key_id) VALUES (?, ?)').run(outerId, id);
    }
    return { kind: 'done', key: this.find(id) as KeyRecord };
  }

  #one(where: string, value: string): KeyRecord | undefined {
    const row = this.#prepare(`SELECT ${COLUMNS} FROM keys WHERE ${where} ORDER BY created_at_ms DESC LIMIT 1`).get(
      value,
    );
    return row === undefined ? undefined : keyOf(row as Row);
  }

  #prepare(sql: string) {
    return this.#database.prepare(sql).safeIntegers();
  }
}
