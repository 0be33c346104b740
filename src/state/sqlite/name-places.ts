/** Which names have sums of their own in a month, and of which keys, as {@link MAX_NAMES} says. */
import { MAX_NAMES, type NameKind } from '../../core/spent-by.ts';
import type { Sqlite, Statement } from './database.ts';

/** The full keys that are remembered, at about 100 bytes each. When there are more, the places of all are counted again. */
const MOST_FULL = 100_000;
/** Of so many of them the names are in memory, at 100 KB each. Those of the others are looked up, at 1 µs. */
const MOST_LISTED = 20;
/** The same of places that keys have which are not full. */
const MOST_PLACES = 10_000;

export class NamePlaces {
  readonly #find: Statement;
  readonly #taken: Statement;
  readonly #last: Statement;
  readonly #learn: Statement;
  readonly #give: Statement;
  readonly #names: Statement;
  /**
   * The keys that get no more places, by month, kind and key, with the names that have one where these are in memory. They
   * stay so, whatever other processes commit.
   */
  readonly #full = new Map<string, ReadonlySet<string> | undefined>();
  #listed = 0;
  /** Some of the places that were given, by month, kind, key and name. They stay so as well. */
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

  /** Whether a key has a place for a name in a month. It gets one if it may. The caller holds the lock. */
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

  /** What was given is rolled back. */
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
