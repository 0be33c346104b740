/** Keys in the operator's book. The ledger reads them, too. */
import { hashKey, isWellFormedKey, previewKey } from '../core/api-key.ts';
import { DAY_MS } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import { names } from '../core/layout.ts';
import { writeBudgets, writeFirstBudgets } from './budget-book.ts';
import {
  type AllowlistEdit,
  childName,
  KEY_NUMBERS,
  type KeyChange,
  type KeyQuery,
  type KeyRecord,
  type KeyState,
  type LimitChanges,
  MOST_CREATED_A_DAY,
  type NewKey,
  NO_TERMS,
  numbersOf,
  successorName,
} from './keys.ts';
import { type Dialect, edited, type Operation, rows, stopDecisions, transaction, type Values } from './operation.ts';
import { copyUsers, editUserLimits, isThere, ownerColumns, writeNumbers, writeUserLimits } from './owners.ts';
import { keyOf, storedAllowlist } from './rows.ts';

/** Condition for keys that can be addressed by name. */
const LIVES = "state <> 'deleted'";

/** The operations on keys. Each change takes effect with the next decision of every gateway. */
export class KeyBook {
  readonly #dialect: Dialect;
  readonly #columns: string;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#columns = `${ownerColumns(dialect, 'keys', KEY_NUMBERS.columns)}, preview, parent_id, may_create, is_leashed`;
  }

  /** Finds a key by id, or a live key by name. A full key is looked up by its hash. */
  *find(idOrName: string): Operation<KeyRecord | undefined> {
    if (isWellFormedKey(idOrName)) return yield* this.byHash(hashKey(idOrName));
    return (yield* this.#one('id = $1', idOrName)) ?? (yield* this.#one(`name = $1 AND ${LIVES}`, idOrName));
  }

  /** Like `find`; falls back to the most recently created deleted key of that name. */
  *findWithDeleted(idOrName: string): Operation<KeyRecord | undefined> {
    return (yield* this.find(idOrName)) ?? (yield* this.#one("name = $1 AND state = 'deleted'", idOrName));
  }

  /** The key with that hash, in any state. */
  byHash(hash: string): Operation<KeyRecord | undefined> {
    return this.#one('hash = $1', hash);
  }

  /** Keys in order of creation, which is the order of their ids. */
  *list(query: KeyQuery): Operation<readonly KeyRecord[]> {
    const { withDeleted, afterId = '', groupIds, parentId, limit = Number.MAX_SAFE_INTEGER } = query;
    const values: Values[number][] = [afterId, limit];
    const where = ['id > $1', ...(withDeleted ? [] : [LIVES])];
    if (groupIds !== undefined) where.push(this.#isIn(`$${values.push(groupIds)}`));
    if (parentId !== undefined) where.push(`parent_id = $${values.push(parentId)}`);
    const text = `SELECT ${this.#columns} FROM inf_gw.keys WHERE ${where.join(' AND ')} ORDER BY id LIMIT $2`;
    return (yield* rows(text, values)).map(keyOf);
  }

  /** A child key belongs to its parent's group while the parent exists. */
  #isIn(groupIds: string): string {
    const { isAnyOf } = this.#dialect;
    const parents = `SELECT p.id FROM inf_gw.keys AS p WHERE p.${LIVES} AND ${isAnyOf('p.group_id', groupIds)}`;
    return `(${isAnyOf('group_id', groupIds)} OR parent_id IN (${parents}))`;
  }

  /** The number of live keys. */
  *count(): Operation<number> {
    const [row] = yield* rows(`SELECT count(*) AS keys FROM inf_gw.keys WHERE ${LIVES}`);
    return Number(row?.keys);
  }

  /** The ids of all descendants of a key. */
  *innerIds(id: string, { withDeleted } = { withDeleted: true }): Operation<readonly string[]> {
    const text = `WITH RECURSIVE inner_keys (key_id, state) AS (
        SELECT k.id, k.state FROM inf_gw.keys AS k WHERE k.parent_id = $1
        UNION SELECT k.id, k.state FROM inner_keys AS i JOIN inf_gw.keys AS k ON k.parent_id = i.key_id
      ) SELECT key_id FROM inner_keys ${withDeleted ? '' : `WHERE ${LIVES}`}`;
    return (yield* rows(text, [id])).map((row) => row.key_id as string);
  }

  /** Whether a key has reached its limit of created keys for this day (UTC). */
  *hasCreatedMost(id: string, wallMs: number): Operation<boolean> {
    const text = 'SELECT count(*) AS keys FROM inf_gw.keys WHERE parent_id = $1 AND created_at_ms >= $2';
    const [row] = yield* rows(text, [id, Math.floor(wallMs / DAY_MS) * DAY_MS]);
    return Number(row?.keys) >= MOST_CREATED_A_DAY;
  }

  /** Stores a new key: only its hash and its preview. */
  create(secret: string, key: NewKey, wallMs: number): Operation<KeyChange> {
    return transaction(this.#create(secret, key, wallMs));
  }

  /** Creates a second key with the settings of the first, under the next free name. */
  rotate(idOrName: string, secret: string, wallMs: number): Operation<KeyChange> {
    return transaction(this.#rotate(idOrName, secret, wallMs));
  }

  /** Deleting a key also deletes its descendants: without their parent they would be refused forever. */
  setState(idOrName: string, state: KeyState): Operation<KeyChange> {
    if (state === 'deleted') return transaction(this.#delete(idOrName));
    const text = 'UPDATE inf_gw.keys SET state = $2 WHERE id = $1';
    return transaction(this.#change(idOrName, ({ id }) => rows(text, [id, state])));
  }

  /** Changes only the given limits. `wallMs` is the current time: a new sliding budget includes earlier spend. */
  setLimits(
    idOrName: string,
    { budgets, userLimits, ...limits }: LimitChanges,
    wallMs = Date.now(),
  ): Operation<KeyChange> {
    const dialect = this.#dialect;
    return transaction(
      this.#change(idOrName, function* (key) {
        yield* writeNumbers('keys', key.id, KEY_NUMBERS, { ...key, ...limits });
        if (budgets !== undefined) yield* writeBudgets(dialect, key, budgets(key.budgets), wallMs);
        if (userLimits !== undefined) yield* editUserLimits(dialect, key, userLimits, wallMs);
      }),
    );
  }

  /** Moves a key into a group; null removes it from its group. Earlier spend stays with the previous group. */
  place(idOrName: string, groupId: string | null): Operation<KeyChange> {
    return transaction(this.#place(idOrName, groupId));
  }

  /** Replaces the allowlist with the result of `edit`. */
  editAllowlist(idOrName: string, edit: AllowlistEdit): Operation<KeyChange> {
    const text = 'UPDATE inf_gw.keys SET allowlist = $2 WHERE id = $1';
    return transaction(
      this.#change(idOrName, ({ id, allowlist }) => rows(text, [id, storedAllowlist(edit(allowlist))])),
    );
  }

  *#delete(idOrName: string): Operation<KeyChange> {
    // Prevents the creation of further child keys until the transaction ends.
    yield* stopDecisions(this.#dialect);
    const key = yield* this.find(idOrName);
    // Skips deleted descendants: their number is unbounded, and gateways wait for this transaction.
    const inner = key === undefined ? [] : yield* this.innerIds(key.id, { withDeleted: false });
    const text = `UPDATE inf_gw.keys SET state = 'deleted' WHERE ${this.#dialect.isAnyOf('id', '$1')}`;
    return yield* this.#change(idOrName, ({ id }) => rows(text, [[id, ...inner]]), inner);
  }

  /** `inner`: descendants that change with the key. */
  *#change(
    idOrName: string,
    write: (key: KeyRecord) => Operation<unknown>,
    inner: readonly string[] = [],
  ): Operation<KeyChange> {
    // Taken before the row lock: two edits that took the two locks in different orders would deadlock.
    yield* stopDecisions(this.#dialect);
    const key = yield* this.#locked(idOrName);
    if (key === undefined) return { kind: 'no_such_key' };
    if (key.state === 'deleted') return { kind: 'deleted' };
    yield* edited(this.#dialect, [key.id, ...inner], write(key));
    return { kind: 'done', key: (yield* this.#one('id = $1', key.id)) as KeyRecord };
  }

  *#place(idOrName: string, groupId: string | null): Operation<KeyChange> {
    yield* stopDecisions(this.#dialect);
    // A child key belongs to its parent's group.
    if ((yield* this.find(idOrName))?.parentId != null) return { kind: 'is_child' };
    if (groupId !== null && !(yield* isThere(this.#dialect, groupId))) return { kind: 'no_such_group' };
    const text = 'UPDATE inf_gw.keys SET group_id = $2 WHERE id = $1';
    return yield* this.#change(idOrName, ({ id }) => rows(text, [id, groupId]));
  }

  *#rotate(idOrName: string, secret: string, wallMs: number): Operation<KeyChange> {
    yield* stopDecisions(this.#dialect);
    const old = yield* this.#locked(idOrName);
    if (old === undefined) return { kind: 'no_such_key' };
    if (old.state === 'deleted') return { kind: 'deleted' };
    const parent = old.parentId === null ? undefined : yield* this.#one('id = $1', old.parentId);
    const ownName = parent === undefined ? old.name : childName(old, parent);
    const prefix = old.name.slice(0, old.name.length - ownName.length);
    for (let attempt = 1; ; attempt++) {
      const change = yield* this.#insert(secret, { ...old, name: prefix + successorName(ownName, attempt) }, wallMs);
      if (change.kind === 'name_taken') continue;
      if (change.kind === 'done') yield* copyUsers(old.id, change.key.id);
      return change;
    }
  }

  *#create(secret: string, key: NewKey, wallMs: number): Operation<KeyChange> {
    const { parentId = null } = key;
    if (parentId !== null) {
      yield* stopDecisions(this.#dialect);
      if (yield* this.hasCreatedMost(parentId, wallMs)) return { kind: 'too_many_today' };
    }
    return yield* this.#insert(secret, key, wallMs);
  }

  *#insert(secret: string, key: NewKey, wallMs: number): Operation<KeyChange> {
    const id = newId('key', wallMs);
    const { name, groupId = null, parentId = null } = key;
    if (parentId !== null) {
      yield* stopDecisions(this.#dialect);
      const parent = yield* this.#one(`id = $1 AND ${LIVES}`, parentId);
      if (parent === undefined) return { kind: 'no_such_key' };
    }
    if (groupId !== null && !(yield* isThere(this.#dialect, groupId))) return { kind: 'no_such_group' };
    const terms = { ...NO_TERMS, ...key };
    const values = [
      ...[id, name, hashKey(secret), previewKey(secret), storedAllowlist(terms.allowlist), wallMs, groupId, parentId],
      ...[Number(key.mayCreate ?? false), Number(key.isLeashed ?? false), ...numbersOf(KEY_NUMBERS, terms)],
    ];
    const made = yield* rows(
      `INSERT INTO inf_gw.keys (state, id, name, hash, preview, allowlist, created_at_ms, group_id, parent_id, may_create,
         is_leashed, ${names(KEY_NUMBERS.columns)})
       VALUES ('enabled', ${values.map((_, index) => `$${index + 1}`).join(', ')})
       ON CONFLICT (name) WHERE ${LIVES} DO NOTHING RETURNING id`,
      values,
    );
    if (made.length === 0) return { kind: 'name_taken' };
    yield* writeFirstBudgets(id, terms.budgets, wallMs);
    yield* writeUserLimits(this.#dialect, id, null, key.userLimits ?? null, wallMs);
    return { kind: 'done', key: (yield* this.#one('id = $1', id)) as KeyRecord };
  }

  /** Like `find`, and locks the row until the end of the transaction. */
  *#locked(idOrName: string): Operation<KeyRecord | undefined> {
    const found = yield* this.find(idOrName);
    return found && (yield* this.#one('id = $1', found.id, this.#dialect.forUpdate));
  }

  *#one(where: string, value: string, lock = ''): Operation<KeyRecord | undefined> {
    // PostgreSQL text cannot contain zero bytes, so no stored value matches.
    if (value.includes('\0')) return undefined;
    const text = `SELECT ${this.#columns} FROM inf_gw.keys WHERE ${where} ORDER BY created_at_ms DESC LIMIT 1 ${lock}`;
    const [row] = yield* rows(text, [value]);
    return row && keyOf(row);
  }
}
