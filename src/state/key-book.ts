/** Keys in the operator's book, which the ledger reads as well. */
import { hashKey, isWellFormedKey, previewKey } from '../core/api-key.ts';
import { newId } from '../core/ids.ts';
import { writeBudgets, writeFirstBudgets } from './budget-book.ts';
import {
  type AllowlistEdit,
  type KeyChange,
  type KeyQuery,
  type KeyRecord,
  type KeyState,
  type LimitChanges,
  type NewKey,
  NUMBER_COLUMNS,
  numbersOf,
  successorName,
} from './keys.ts';
import { type Dialect, type Operation, rows, stopDecisions, transaction } from './operation.ts';
import { keyOf, storedAllowlist } from './rows.ts';

/** The columns of the terms that are numbers. */
const NUMBERS = Object.values(NUMBER_COLUMNS);
/** The condition that a key can be named by its name. */
const LIVES = "state <> 'deleted'";

/** The operations on keys. Each change is in force with the next decision of every gateway. */
export class KeyBook {
  readonly #dialect: Dialect;
  readonly #columns: string;

  constructor(dialect: Dialect) {
    const { jsonArray, jsonObject } = dialect;
    this.#dialect = dialect;
    this.#columns = `id, name, preview, state, ${NUMBERS.join(', ')}, CAST(allowlist AS text) AS allowlist, created_at_ms,
      (SELECT CAST(${jsonArray}(${jsonObject}('period', b.period, 'limit', CAST(b.limit_nanos AS text))) AS text)
        FROM inf_gw.budgets AS b WHERE b.key_id = keys.id) AS budgets,
      (SELECT CAST(${jsonArray}(l.outer_id ORDER BY l.outer_id) AS text)
        FROM inf_gw.leashes AS l WHERE l.key_id = keys.id) AS leashes`;
  }

  /** A key by id, or a key that is not deleted by name. Who has only the key itself finds it by that. */
  *find(idOrName: string): Operation<KeyRecord | undefined> {
    if (isWellFormedKey(idOrName)) return yield* this.byHash(hashKey(idOrName));
    return (yield* this.#one('id = $1', idOrName)) ?? (yield* this.#one(`name = $1 AND ${LIVES}`, idOrName));
  }

  /** As `find`; if there is none, the deleted key of that name that was created last. */
  *findWithDeleted(idOrName: string): Operation<KeyRecord | undefined> {
    return (yield* this.find(idOrName)) ?? (yield* this.#one("name = $1 AND state = 'deleted'", idOrName));
  }

  /** The key with that hash, in any state. */
  byHash(hash: string): Operation<KeyRecord | undefined> {
    return this.#one('hash = $1', hash);
  }

  /** Keys in order of creation, which is the order of their ids. */
  *list({ withDeleted, afterId = '', limit = Number.MAX_SAFE_INTEGER }: KeyQuery): Operation<readonly KeyRecord[]> {
    const where = withDeleted ? 'id > $1' : `id > $1 AND ${LIVES}`;
    const text = `SELECT ${this.#columns} FROM inf_gw.keys WHERE ${where} ORDER BY id LIMIT $2`;
    return (yield* rows(text, [afterId, limit])).map(keyOf);
  }

  /** The number of keys that are not deleted. */
  *count(): Operation<number> {
    const [row] = yield* rows(`SELECT count(*) AS keys FROM inf_gw.keys WHERE ${LIVES}`);
    return Number(row?.keys);
  }

  /** The ids of the keys of the runs inside that of a key, at any depth. */
  *innerIds(id: string): Operation<readonly string[]> {
    const text = 'SELECT key_id FROM inf_gw.leashes WHERE outer_id = $1 AND key_id <> outer_id';
    return (yield* rows(text, [id])).map((row) => row.key_id as string);
  }

  /** Stores a new key. Only its hash and its preview are kept. */
  create(secret: string, key: NewKey, wallMs: number): Operation<KeyChange> {
    return transaction(this.#insert(secret, key, wallMs));
  }

  /** Creates a second key with the settings of the first, under the next free name. */
  rotate(idOrName: string, secret: string, wallMs: number): Operation<KeyChange> {
    return transaction(this.#rotate(idOrName, secret, wallMs));
  }

  setState(idOrName: string, state: KeyState): Operation<KeyChange> {
    const text = 'UPDATE inf_gw.keys SET state = $2 WHERE id = $1';
    return transaction(this.#change(idOrName, ({ id }) => rows(text, [id, state])));
  }

  /** Changes only what is given. `wallMs` is now: a new sliding budget counts what was spent before. */
  setLimits(idOrName: string, { budgets, ...limits }: LimitChanges, wallMs = Date.now()): Operation<KeyChange> {
    const dialect = this.#dialect;
    const change = this.#change(idOrName, function* (key) {
      const changes = NUMBERS.map((column, index) => `${column} = $${index + 2}`).join(', ');
      const text = `UPDATE inf_gw.keys SET ${changes} WHERE id = $1`;
      yield* rows(text, [key.id, ...numbersOf({ ...key, ...limits })]);
      if (budgets !== undefined) yield* writeBudgets(dialect, key, budgets(key.budgets), wallMs);
    });
    return transaction(budgets === undefined ? change : afterStop(dialect, change));
  }

  /** Replaces the allowlist by what `edit` returns for it. */
  editAllowlist(idOrName: string, edit: AllowlistEdit): Operation<KeyChange> {
    const text = 'UPDATE inf_gw.keys SET allowlist = $2 WHERE id = $1';
    return transaction(
      this.#change(idOrName, ({ id, allowlist }) => rows(text, [id, storedAllowlist(edit(allowlist))])),
    );
  }

  *#change(idOrName: string, write: (key: KeyRecord) => Operation<unknown>): Operation<KeyChange> {
    const key = yield* this.#locked(idOrName);
    if (key === undefined) return { kind: 'no_such_key' };
    if (key.state === 'deleted') return { kind: 'deleted' };
    yield* write(key);
    return { kind: 'done', key: (yield* this.#one('id = $1', key.id)) as KeyRecord };
  }

  *#rotate(idOrName: string, secret: string, wallMs: number): Operation<KeyChange> {
    const old = yield* this.#locked(idOrName);
    if (old === undefined) return { kind: 'no_such_key' };
    if (old.state === 'deleted') return { kind: 'deleted' };
    for (let attempt = 1; ; attempt++) {
      const change = yield* this.#insert(secret, { ...old, name: successorName(old.name, attempt) }, wallMs);
      if (change.kind !== 'name_taken') return change;
    }
  }

  *#insert(secret: string, key: NewKey, wallMs: number): Operation<KeyChange> {
    const id = newId('key', wallMs);
    const { name, allowlist, expiresAtMs = null } = key;
    const values = [
      ...[id, name, hashKey(secret), previewKey(secret), storedAllowlist(allowlist), wallMs],
      ...numbersOf({ ...key, expiresAtMs }),
    ];
    const made = yield* rows(
      `INSERT INTO inf_gw.keys (state, id, name, hash, preview, allowlist, created_at_ms, ${NUMBERS.join(', ')})
       VALUES ('enabled', ${values.map((_, index) => `$${index + 1}`).join(', ')})
       ON CONFLICT (name) WHERE ${LIVES} DO NOTHING RETURNING id`,
      values,
    );
    if (made.length === 0) return { kind: 'name_taken' };
    yield* writeFirstBudgets(id, key.budgets ?? [], wallMs);
    for (const outerId of key.leash === undefined ? [] : [id, ...key.leash.outerIds]) {
      yield* rows('INSERT INTO inf_gw.leashes (outer_id, key_id) VALUES ($1, $2)', [outerId, id]);
    }
    return { kind: 'done', key: (yield* this.#one('id = $1', id)) as KeyRecord };
  }

  /** As `find`, and until the end of the transaction nobody else changes the key. */
  *#locked(idOrName: string): Operation<KeyRecord | undefined> {
    const found = yield* this.find(idOrName);
    return found && (yield* this.#one('id = $1', found.id, this.#dialect.forUpdate));
  }

  *#one(where: string, value: string, lock = ''): Operation<KeyRecord | undefined> {
    // Text in PostgreSQL has no zero bytes, and so no key has one.
    if (value.includes('\0')) return undefined;
    const text = `SELECT ${this.#columns} FROM inf_gw.keys WHERE ${where} ORDER BY created_at_ms DESC LIMIT 1 ${lock}`;
    const [row] = yield* rows(text, [value]);
    return row && keyOf(row);
  }
}

/** What is written beside the keys themselves: no gateway decides meanwhile. */
function* afterStop<T>(dialect: Dialect, change: Operation<T>): Operation<T> {
  yield* stopDecisions(dialect);
  return yield* change;
}
