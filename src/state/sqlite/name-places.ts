/** The names with their own sums in a month, per key and kind, bounded by {@link MAX_NAMES}. Such a name has a slot. */
import { MAX_NAMES, type NameKind } from '../../core/spent-by.ts';
import type { Sqlite, Statement } from './database.ts';

/**
 * Maximum number of keys known to have no free slots, at about 100 bytes each. Beyond it the cache is cleared, and slots
 * are counted again.
 */
const MOST_FULL = 100_000;
/** Number of those keys with their names in memory, at 100 KB each. Names of other keys are looked up in 1 µs. */
const MOST_LISTED = 20;
/** Maximum number of cached slots. */
const MOST_PLACES = 10_000;

export class NamePlaces {
  readonly #find: Statement;
  readonly #taken: Statement;
  readonly #last: Statement;
  readonly #learn: Statement;
  readonly #give: Statement;
  readonly #names: Statement;
  /**
   * The keys without free slots, by month, kind and key, with their names if in memory. Always valid: commits of other
   * processes do not free slots.
   */
  readonly #full = new Map<string, ReadonlySet<string> | undefined>();
  #listed = 0;
  /** A cache of assigned slots, by month, kind, key and name. Always valid, because slots are never freed. */
  readonly #given = new Set<string>();

  constructor(database: Sqlite) {
    this.#find = database
      .prepare('SELECT 1 FROM usage_name_keys WHERE month = ? AND kind = ? AND key_id = ? AND name = ?')
      .pluck();
    this.#taken = database
      .prepare('SELECT count(*) FROM usage_name_keys WHERE month = ? AND kind = ? AND key_id = ?')
      .pluck();
    this.#last = database
      .prepare('SELECT id FROM usage_names WHERE month = ? AND kind = ? ORDER BY id DESC LIMIT 1')
      .pluck();
    this.#learn = database.prepare(
      'INSERT INTO usage_names (month, kind, name, id) VALUES (?, ?, ?, ?) ON CONFLICT (month, kind, name) DO NOTHING',
    );
    this.#names = database
      .prepare('SELECT name FROM usage_name_keys WHERE month = ? AND kind = ? AND key_id = ?')
      .pluck();
    this.#give = database.prepare('INSERT INTO usage_name_keys (month, kind, key_id, name) VALUES (?, ?, ?, ?)');
  }

  /** Whether a key has a slot for a name in a month. Assigns a free slot if necessary. The caller holds the lock. */
  has(month: string, kind: NameKind, keyId: string, name: string): boolean {
    const key = `${month} ${kind} ${keyId}`;
    const names = this.#full.get(key);
    if (names !== undefined) return names.has(name);
    const place = `${key} ${name}`;
    if (this.#given.has(place)) return true;
    if (this.#find.get(month, kind, keyId, name) !== 1 && !this.#isGiven(month, kind, keyId, name, key)) return false;
    if (this.#given.size >= MOST_PLACES) this.#given.clear();
    this.#given.add(place);
    return true;
  }

  /** Clears the caches: a rollback has undone assignments. */
  forget(): void {
    this.#forgetFull();
    this.#given.clear();
  }

  #forgetFull(): void {
    this.#full.clear();
    this.#listed = 0;
  }

  #isGiven(month: string, kind: NameKind, keyId: string, name: string, key: string): boolean {
    if (this.#full.has(key)) return false;
    const last = (this.#last.get(month, kind) as number | undefined) ?? 0;
    if ((this.#taken.get(month, kind, keyId) as number) >= MAX_NAMES - last) {
      if (this.#full.size >= MOST_FULL) this.#forgetFull();
      const isListed = ++this.#listed <= MOST_LISTED;
      this.#full.set(key, isListed ? new Set(this.#names.all(month, kind, keyId) as string[]) : undefined);
      return false;
    }
    this.#learn.run(month, kind, name, last + 1);
    this.#give.run(month, kind, keyId, name);
    return true;
  }
}
