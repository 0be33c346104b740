/** The table of keys, for operators and for the ledger, which needs its operations synchronous. */

import { hashKey, isWellFormedKey, previewKey } from '../../core/api-key.ts';
import { newId } from '../../core/ids.ts';
import {
  type AllowlistEdit,
  type KeyChange,
  type KeyQuery,
  type KeyRecord,
  type KeyState,
  MAX_NAME_CHARACTERS,
  type NewKey,
  type OwnLimits,
} from '../keys.ts';
import { immediately, type Sqlite } from './database.ts';

interface KeyRow {
  id: string;
  name: string;
  preview: string;
  state: KeyState;
  rpm: bigint | null;
  tpm: bigint | null;
  concurrency: bigint | null;
  spend_limit_nanos: bigint | null;
  allowlist: string | null;
  created_at_ms: bigint;
}

const COLUMNS = 'id, name, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist, created_at_ms';

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
    return (rows as KeyRow[]).map(toRecord);
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
      return this.#insert(secret, { ...old, name: this.#freeName(old.name) }, wallMs);
    });
  }

  setState(idOrName: string, state: KeyState): KeyChange {
    return this.#change(idOrName, (key) => {
      this.#database.prepare('UPDATE keys SET state = ? WHERE id = ?').run(state, key.id);
    });
  }

  setLimits(idOrName: string, limits: Partial<OwnLimits>): KeyChange {
    return this.#change(idOrName, (key) => {
      const { rpm, tpm, concurrency, spendLimitNanos } = { ...key, ...limits };
      this.#database
        .prepare('UPDATE keys SET rpm = ?, tpm = ?, concurrency = ?, spend_limit_nanos = ? WHERE id = ?')
        .run(rpm, tpm, concurrency, spendLimitNanos, key.id);
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
      .prepare(`INSERT INTO keys (${COLUMNS}, hash) VALUES (?, ?, ?, 'enabled', ?, ?, ?, ?, ?, ?, ?)`)
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
        hashKey(secret),
      );
    return { kind: 'done', key: this.find(id) as KeyRecord };
  }

  /** `app` becomes `app-2`, `app-2` becomes `app-3`, and so on to the first that is free. */
  #freeName(name: string): string {
    const [, stem = name, number = '1'] = /^(.*)-(\d{1,6})$/.exec(name) ?? [];
    for (let next = Number(number) + 1; ; next++) {
      const suffix = `-${next}`;
      const candidate = [...stem].slice(0, MAX_NAME_CHARACTERS - suffix.length).join('') + suffix;
      if (this.#one("name = ? AND state <> 'deleted'", candidate) === undefined) return candidate;
    }
  }

  #one(where: string, value: string): KeyRecord | undefined {
    const row = this.#prepare(`SELECT ${COLUMNS} FROM keys WHERE ${where} ORDER BY created_at_ms DESC LIMIT 1`).get(
      value,
    );
    return row === undefined ? undefined : toRecord(row as KeyRow);
  }

  #prepare(sql: string) {
    return this.#database.prepare(sql).safeIntegers();
  }
}

/** The allowlist as JSON, without duplicates. */
function storedAllowlist(models: readonly string[] | null): string | null {
  return models === null ? null : JSON.stringify([...new Set(models)]);
}

function toRecord(row: KeyRow): KeyRecord {
  const number = (value: bigint | null) => (value === null ? null : Number(value));
  return {
    id: row.id,
    name: row.name,
    preview: row.preview,
    state: row.state,
    rpm: number(row.rpm),
    tpm: number(row.tpm),
    concurrency: number(row.concurrency),
    spendLimitNanos: row.spend_limit_nanos,
    allowlist: row.allowlist === null ? null : (JSON.parse(row.allowlist) as string[]),
    createdAtMs: Number(row.created_at_ms),
  };
}
