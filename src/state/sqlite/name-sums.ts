/** Adds up what a batch of settled requests changes in the sums by user, tag and app, and writes it once per batch. */
import { utcDay } from '../../core/clock.ts';
import { MAX_NAMES, NAME_KINDS, type NameKind, OTHER_NAMES, type SpentBy } from '../../core/spent-by.ts';
import { NAME_SUM_COLUMNS } from '../names.ts';
import type { Sqlite, Statement } from './database.ts';
import { ADD_FIGURES } from './sql.ts';
import { count, type Figures, figuresOf, noFigures, type Summand } from './sums.ts';

/** The sum of one name, key and model on one day. */
interface NameSum extends Figures {
  readonly day: string;
  readonly kind: NameKind;
  readonly name: string;
  readonly keyId: string;
  readonly model: string;
}

/** The full keys that are remembered, at about 100 bytes each. When there are more, the places of all are counted again. */
const MOST_FULL = 100_000;

export class NameSumWriter {
  readonly #add: Statement;
  readonly #find: Statement;
  readonly #taken: Statement;
  readonly #last: Statement;
  readonly #learn: Statement;
  readonly #give: Statement;
  /** The keys that get no more places, by month, kind and key. They stay so, whatever other processes commit. */
  readonly #full = new Set<string>();
  /** Not written yet. */
  readonly #sums = new Map<string, NameSum>();

  constructor(database: Sqlite) {
    this.#add = database.prepare(
      `INSERT INTO usage_name_days (${NAME_SUM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`,
    );
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
    this.#give = database.prepare('INSERT INTO usage_name_keys (month, kind, key_id, name) VALUES (?, ?, ?, ?)');
  }

  add(spentBy: SpentBy, summand: Summand): void {
    const day = utcDay(summand.admittedAtMs);
    const { keyId, model } = summand;
    for (const kind of NAME_KINDS) {
      const name = spentBy[kind];
      if (name === '') continue;
      // None of the other parts contains a line break, and no name is empty.
      const placeOf = (named: string) => `${day}\n${kind}\n${named}\n${keyId}\n${model}`;
      const own = placeOf(name);
      const isKnown = this.#sums.has(own) || this.#hasPlace(day.slice(0, 7), kind, keyId, name);
      const place = isKnown ? own : placeOf('');
      let sum = this.#sums.get(place);
      if (sum === undefined) {
        sum = { day, kind, name: isKnown ? name : OTHER_NAMES, keyId, model, ...noFigures() };
        this.#sums.set(place, sum);
      }
      count(sum, summand);
    }
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    for (const sum of this.#sums.values()) {
      this.#add.run(sum.day, sum.kind, sum.name, sum.keyId, sum.model, ...figuresOf(sum));
    }
    this.#sums.clear();
  }

  /** Discards what was added: the transaction was rolled back, and with it the requests, and the places of names. */
  forget(): void {
    this.#sums.clear();
    this.#full.clear();
  }

  /** Whether a key has a place for a name in a month. It gets one as {@link MAX_NAMES} says. */
  #hasPlace(month: string, kind: NameKind, keyId: string, name: string): boolean {
    if (this.#find.get(month, kind, keyId, name) === 1) return true;
    const place = `${month} ${kind} ${keyId}`;
    if (this.#full.has(place)) return false;
    const last = (this.#last.get(month, kind) as number | undefined) ?? 0;
    if ((this.#taken.get(month, kind, keyId) as number) >= MAX_NAMES - last) {
      if (this.#full.size >= MOST_FULL) this.#full.clear();
      this.#full.add(place);
      return false;
    }
    this.#learn.run(month, kind, name, last + 1);
    this.#give.run(month, kind, keyId, name);
    return true;
  }
}
