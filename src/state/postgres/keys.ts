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
  type LimitChanges,
  type NewKey,
  successorName,
} from '../keys.ts';
import { keyOf, storedAllowlist } from '../rows.ts';
import { BUDGETS_COLUMN, writeBudgets } from './budgets.ts';
import type { Database, Run } from './database.ts';

const COLUMNS = `id, name, preview, state, rpm, tpm, concurrency, spend_limit_nanos, allowlist::text AS allowlist, created_at_ms,
  expires_at_ms, ${BUDGETS_COLUMN},
  (SELECT jsonb_agg(l.outer_id ORDER BY l.outer_id)::text FROM inf_gw.leashes l WHERE l.key_id = keys.id) AS leashes`;

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

  async innerIds(id: string): Promise<readonly string[]> {
    const text = 'SELECT key_id FROM inf_gw.leashes WHERE outer_id = $1 AND key_id <> outer_id';
    return (await this.#database.run(text, [id])).map((row) => row.key_id as string);
  }

  async create(secret: string, key: NewKey, wallMs: number): Promise<KeyChange> {
    return this.#database.transaction((run) => insert(run, secret, key, wallMs));
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

  setLimits(idOrName: string, { budgets, ...limits }: LimitChanges, wallMs = Date.now()): Promise<KeyChange> {
    const assign = (key: KeyRecord): Assignments => {
      const { rpm, tpm, concurrency, spendLimitNanos, expiresAtMs } = { ...key, ...limits };
      return [
        'rpm = $2, tpm = $3, concurrency = $4, spend_limit_nanos = $5, expires_at_ms = $6',
        [rpm, tpm, concurrency, spendLimitNanos, expiresAtMs],
      ];
    };
    if (budgets === undefined) return this.#change(idOrName, assign);
    return this.#change(idOrName, assign, async (run, key) => {
      await writeBudgets(run, key, budgets(key.budgets), wallMs);
    });
  }

  editAllowlist(idOrName: string, edit: AllowlistEdit): Promise<KeyChange> {
    return this.#change(idOrName, ({ allowlist }) => ['allowlist = $2', [storedAllowlist(edit(allowlist))]]);
  }

  /** `before` writes to other tables: then gateways decide nothing meanwhile. */
  #change(
    idOrName: string,
    assign: (key: KeyRecord) => Assignments,
    before?: (run: Run, key: KeyRecord) => Promise<void>,
  ): Promise<KeyChange> {
    return this.#database.transaction(async (run) => {
      if (before !== undefined) await run('SELECT FROM inf_gw.account FOR UPDATE');
      const key = await locked(run, idOrName);
      if (key === undefined) return { kind: 'no_such_key' };
      if (key.state === 'deleted') return { kind: 'deleted' };
      await before?.(run, key);
      const [assignments, values] = assign(key);
      const text = `UPDATE inf_gw.keys SET ${assignments} WHERE id = $1 RETURNING ${COLUMNS}`;
      const [row] = await run(text, [key.id, ...values]);
      if (row === undefined) throw new Error(`the key ${key.id} is gone`);
      return { kind: 'done', key: keyOf(row) };
    });
  }
}

/** What comes after SET, and its parameters from $2 on. */
type Assignments = [string, (string | number | bigint | null)[]];

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
       created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, 'enabled', $5, $6, $7, $8, $9, $10, $11)
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
      key.expiresAtMs ?? null,
    ],
  );
  if (row === undefined) return { kind: 'name_taken' };
  const made = keyOf(row);
  const { budgets = [], leash } = key;
  if (budgets.length === 0 && leash === undefined) return { kind: 'done', key: made };
  await writeBudgets(run, made, budgets, wallMs);
  if (leash !== undefined) {
    const outerIds = [made.id, ...leash.outerIds];
    await run('INSERT INTO inf_gw.leashes (outer_id, key_id) SELECT unnest($1::text[]), $2', [outerIds, made.id]);
  }
  return { kind: 'done', key: (await one(run, 'id = $1', made.id)) as KeyRecord };
}
