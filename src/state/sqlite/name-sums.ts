/** Adds up what a batch of settled requests changes in the sums by user, tag and app, and writes it once per batch. */
import { utcDay } from '../../core/clock.ts';
import { MAX_NAMES, NAME_KINDS, type NameKind, OTHER_NAMES, type SpentBy } from '../../core/spent-by.ts';
import { NAME_SUM_COLUMNS } from '../names.ts';
import type { Sqlite, Statement } from './database.ts';
import { ADD_FIGURES } from './sql.ts';
import type { Summand } from './sums.ts';

/** The sum of one name, key and model on one day. */
interface NameSum {
  readonly day: string;
  readonly kind: NameKind;
  readonly name: string;
  readonly keyId: string;
  readonly model: string;
  readonly of: Summand[];
}

export class NameSumWriter {
  readonly #add: Statement;
  readonly #find: Statement;
  readonly #taken: Statement;
  readonly #last: Statement;
  readonly #learn: Statement;
  readonly #give: Statement;
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
      // None of the parts contains a line break.
      const place = `${day}\n${kind}\n${name}\n${keyId}\n${model}`;
      const sum = this.#sums.get(place);
      if (sum === undefined) this.#sums.set(place, { day, kind, name, keyId, model, of: [summand] });
      else sum.of.push(summand);
    }
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    for (const { day, kind, name, keyId, model, of } of this.#sums.values()) {
      const total = (read: (summand: Summand) => number) => of.reduce((sum, summand) => sum + read(summand), 0);
      this.#add.run(
        day,
        kind,
        this.#hasPlace(day.slice(0, 7), kind, keyId, name) ? name : OTHER_NAMES,
        keyId,
        model,
        of.length,
        total(({ isError }) => (isError ? 1 : 0)),
        total(({ promptTokens }) => promptTokens),
        total(({ cachedTokens }) => cachedTokens),
        total(({ cacheWriteTokens }) => cacheWriteTokens),
        total(({ completionTokens }) => completionTokens),
        of.reduce((sum, { costNanos }) => sum + costNanos, 0n),
      );
    }
    this.forget();
  }

  /** Discards what was added: the transaction was rolled back, and the requests with it. */
  forget(): void {
    this.#sums.clear();
  }

  /** Whether a key has a place for a name in a month. It gets one as {@link MAX_NAMES} says. */
  #hasPlace(month: string, kind: NameKind, keyId: string, name: string): boolean {
    if (this.#find.get(month, kind, keyId, name) === 1) return true;
    const last = (this.#last.get(month, kind) as number | undefined) ?? 0;
    if ((this.#taken.get(month, kind, keyId) as number) >= MAX_NAMES - last) return false;
    this.#learn.run(month, kind, name, last + 1);
    this.#give.run(month, kind, keyId, name);
    return true;
  }
}
