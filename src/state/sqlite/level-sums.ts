/** Adds up what a batch of settled requests changes in the sums of levels, and writes it once per batch. */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { isUserId } from '../levels.ts';
import { SUM_COLUMNS, SUM_FIGURES } from '../sql.ts';
import type { Sqlite, Statement } from './database.ts';
import { ADD_FIGURES } from './sql.ts';
import { count, type Figures, figuresOf, noFigures, type Summand } from './sums.ts';

/** Of one key, model and source on one day. */
interface DaySum extends Figures, Pick<Summand, 'keyId' | 'model' | 'source'> {
  readonly day: string;
  readonly month: string;
}

/** Of one level. */
interface LevelSums {
  readonly days: DaySum[];
  /** Of all its keys and models: whichever served, it is the same row. Empty for an end user, who has days alone. */
  readonly months: Map<string, Figures>;
}

export class LevelSumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  /** Not written yet, by level. */
  readonly #sums = new Map<string, LevelSums>();

  constructor(database: Sqlite) {
    this.#addDay = database.prepare(
      `INSERT INTO level_days (level_id, day, ${SUM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`,
    );
    this.#addMonth = database.prepare(
      `INSERT INTO level_months (level_id, month, ${SUM_FIGURES.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`,
    );
  }

  add(levels: readonly string[], summand: Summand): void {
    const [day, month] = [utcDay(summand.admittedAtMs), utcMonth(summand.admittedAtMs)];
    for (const levelId of levels) {
      const sums = this.#sums.get(levelId) ?? { days: [], months: new Map<string, Figures>() };
      this.#sums.set(levelId, sums);
      count(dayIn(sums, day, month, summand), summand);
      if (isUserId(levelId)) continue;
      const ofMonth = sums.months.get(month) ?? noFigures();
      sums.months.set(month, ofMonth);
      count(ofMonth, summand);
    }
  }

  /** What a level is charged by requests that are not written yet: on those days, or in those months. */
  pendingCharge(levelId: string, counts: (sum: { readonly day: string; readonly month: string }) => boolean): Nanos {
    let nanos = 0n;
    for (const sum of this.#sums.get(levelId)?.days ?? []) if (counts(sum)) nanos += sum.costNanos;
    return nanos;
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    if (this.#sums.size === 0) return;
    for (const [levelId, { days, months }] of this.#sums) {
      for (const sum of days) {
        this.#addDay.run(levelId, sum.day, sum.keyId, sum.model, sum.source, ...figuresOf(sum));
      }
      for (const [month, sum] of months) this.#addMonth.run(levelId, month, ...figuresOf(sum));
    }
    this.forget();
  }

  /** Discards what was added: the transaction was rolled back, and the requests with it. */
  forget(): void {
    this.#sums.clear();
  }
}

function dayIn({ days }: LevelSums, day: string, month: string, { keyId, model, source }: Summand): DaySum {
  const same = (sum: DaySum) => sum.day === day && sum.keyId === keyId && sum.model === model && sum.source === source;
  let sum = days.find(same);
  if (sum === undefined) {
    sum = { day, month, keyId, model, source, ...noFigures() };
    days.push(sum);
  }
  return sum;
}
