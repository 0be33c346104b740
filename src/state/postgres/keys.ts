/** The table of keys in the database. Edits need no lock but that of the row. */
import { hashKey, isWellFormedKey, previewKey } from '../../core/api-key.ts';
import { newId } from '../../core/ids.ts';
import {
  type AllowlistEdit,
  type KeyChange,
  type KeyQuery,
  type KeyRecord,
  type KeyState,
  type Keys,
  type NewKey,
  type OwnLimits,
  successorName,
} from '../keys.ts';
import { keyOf, storedAllowlist } from '../rows.ts';
import type { Database, Run } from './database.ts';

const COLUMNS =
  'id, name, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist::text AS allowlist, created_at_ms';

export class PostgresKeys implements Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(idOrName: string): Promise<KeyRecord | undefined> {
    return find(this.#database.run, idOrName);
  }

  async findWithDeleted(idOrName: string): Promise<KeyRecord | undefined> {
    const { run } = this.#database;
    return (await find(run, idOrName)) ?? (await one(run, "name = $1 AND state = 'deleted'", idOrName));
  }

  async list({ withDeleted, afterId = '', limit }: KeyQuery): Promise<readonly KeyRecord[]> {
    const where = withDeleted ? 'id > $1' : "id > $1 AND state <> 'deleted'";
    const text = `SELECT ${COLUMNS} FROM inf_gw.keys WHERE ${where} ORDER BY id LIMIT $2`;
    // Without a limit, NULL.
    return (await this.#database.run(text, [afterId, limit ?? null])).map(keyOf);
  }

  async create(secret: string, key: NewKey, wallMs: number): Promise<KeyChange> {
    return insert(this.#database.run, secret, key, wallMs);
  }

  rotate(idOrName: string, secret: string, wallMs: number): Promise<KeyChange> {
    return this.#database.transaction(async (run) => {
      const old = await locked(run, idOrName);
      if (old === undefined) return { kind: 'no_such_key' };
      if (old.state === 'deleted') return { kind: 'deleted' };
      for (let attempt = 1; ; attempt++) {
        const change = await insert(run, secret, { ...old, name: successorName(old.name, attempt) }, wallMs);
        if (change.kind !== 'name_taken') return change;
      }
    });
  }

  setState(idOrName: string, state: KeyState): Promise<KeyChange> {
    return this.#change(idOrName, () => ['state = $2', [state]]);
  }

  setLimits(idOrName: string, limits: Partial<OwnLimits>): Promise<KeyChange> {
    return this.#change(idOrName, (key) => {
      const { rpm, tpm, concurrency, spendLimitNanos } = { ...key, ...limits };
      return ['rpm = $2, tpm = $3, concurrency = $4, spend_limit_nanos = $5', [rpm, tpm, concurrency, spendLimitNanos]];
    });
  }

  editAllowlist(idOrName: string, edit: AllowlistEdit): Promise<KeyChange> {
    return this.#change(idOrName, ({ allowlist }) => ['allowlist = $2', [storedAllowlist(edit(allowlist))]]);
  }

  /** `assign` returns what comes after SET, and its parameters from $2 on. */
  #change(
    idOrName: string,
    assign: (key: KeyRecord) => [string, (string | number | bigint | null)[]],
  ): Promise<KeyChange> {
    return this.#database.transaction(async (run) => {
      const key = await locked(run, idOrName);
      if (key === undefined) return { kind: 'no_such_key' };
      if (key.state === 'deleted') return { kind: 'deleted' };
      const [assignments, values] = assign(key);
      const text = `UPDATE inf_gw.keys SET ${assignments} WHERE id = $1 RETURNING ${COLUMNS}`;
      const [row] = await run(text, [key.id, ...values]);
      if (row === undefined) throw new Error(`the key ${key.id} is gone`);
      return { kind: 'done', key: keyOf(row) };
    });
  }
}

/** As `Keys.find`. */
async function find(run: Run, idOrName: string): Promise<KeyRecord | undefined> {
  if (isWellFormedKey(idOrName)) return one(run, 'hash = $1', hashKey(idOrName));
  return (await one(run, 'id = $1', idOrName)) ?? (await one(run, "name = $1 AND state <> 'deleted'", idOrName));
}

/** The same, and until the end of the transaction nobody else changes the key. */
async function locked(run: Run, idOrName: string): Promise<KeyRecord | undefined> {
  const found = await find(run, idOrName);
  return found && one(run, 'id = $1', found.id, 'FOR UPDATE');
}

async function one(run: Run, where: string, value: string, lock = ''): Promise<KeyRecord | undefined> {
  // Text in PostgreSQL has no zero bytes, and so no key has one.
  if (value.includes('\0')) return undefined;
  const text = `SELECT ${COLUMNS} FROM inf_gw.keys WHERE ${where} ORDER BY created_at_ms DESC LIMIT 1 ${lock}`;
  const [row] = await run(text, [value]);
  return row && keyOf(row);
}

async function insert(run: Run, secret: string, key: NewKey, wallMs: number): Promise<KeyChange> {
  const [row] = await run(
    `INSERT INTO inf_gw.keys (id, name, hash, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist,
       created_at_ms) VALUES ($1, $2, $3, $4, 'enabled', $5, $6, $7, $8, $9, $10)
     ON CONFLICT (name) WHERE state <> 'deleted' DO NOTHING RETURNING ${COLUMNS}`,
    [
      newId('key', wallMs),
      key.name,
      hashKey(secret),
      previewKey(secret),
      key.rpm,
      key.tpm,
      key.concurrency,
      key.spendLimitNanos,
      storedAllowlist(key.allowlist),
      wallMs,
    ],
  );
  return row === undefined ? { kind: 'name_taken' } : { kind: 'done', key: keyOf(row) };
}
