/** Adds up what a batch of settled requests changes in the sums of levels, and writes it once per batch. */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { SUM_COLUMNS, SUM_FIGURES } from '../sql.ts';
import type { Sqlite, Statement } from './database.ts';
import { ADD_FIGURES } from './sql.ts';
import type { Summand } from './sums.ts';

/** Of one level, key, model and source on one day. */
interface Sum extends Omit<Summand, 'isError' | 'admittedAtMs'> {
  readonly levelId: string;
  readonly day: string;
  readonly month: string;
  requests: number;
  errors: number;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  costNanos: Nanos;
  lastAtMs: number;
}

export class LevelSumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  /** Not written yet, by level. */
  readonly #sums = new Map<string, Sum[]>();

  constructor(database: Sqlite) {
    this.#addDay = database.prepare(
      `INSERT INTO level_days (level_id, day, ${SUM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`,
    );
    this.#addMonth = database.prepare(
      `INSERT INTO level_months (level_id, month, ${SUM_FIGURES.join(', ')}, last_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}, last_at_ms = max(last_at_ms, excluded.last_at_ms)`,
    );
  }

  add(levels: readonly string[], summand: Summand): void {
    const day = utcDay(summand.admittedAtMs);
    for (const levelId of levels) {
      const sum = this.#sumOf(levelId, day, summand);
      sum.requests++;
      if (summand.isError) sum.errors++;
      sum.promptTokens += summand.promptTokens;
      sum.cachedTokens += summand.cachedTokens;
      sum.cacheWriteTokens += summand.cacheWriteTokens;
      sum.completionTokens += summand.completionTokens;
      sum.costNanos += summand.costNanos;
      sum.lastAtMs = Math.max(sum.lastAtMs, summand.admittedAtMs);
    }
  }

  /** What a level is charged by requests that are not written yet: on those days, or in those months. */
  pendingCharge(levelId: string, counts: (sum: { readonly day: string; readonly month: string }) => boolean): Nanos {
    let nanos = 0n;
    for (const sum of this.#sums.get(levelId) ?? []) if (counts(sum)) nanos += sum.costNanos;
    return nanos;
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    if (this.#sums.size === 0) return;
    for (const sums of this.#sums.values()) {
      for (const sum of sums) {
        const { levelId, keyId, model, source, requests, errors, completionTokens, costNanos } = sum;
        const input = [sum.promptTokens, sum.cachedTokens, sum.cacheWriteTokens];
        const figures = [requests, errors, ...input, completionTokens, costNanos];
        this.#addDay.run(levelId, sum.day, keyId, model, source, ...figures);
        this.#addMonth.run(levelId, sum.month, ...figures, sum.lastAtMs);
      }
    }
    this.forget();
  }

  /** Discards what was added: the transaction was rolled back, and the requests with it. */
  forget(): void {
    this.#sums.clear();
  }

  #sumOf(levelId: string, day: string, { keyId, model, source, admittedAtMs }: Summand): Sum {
    const sums = this.#sums.get(levelId) ?? [];
    const same = (sum: Sum) => sum.day === day && sum.keyId === keyId && sum.model === model && sum.source === source;
    let sum = sums.find(same);
    if (sum === undefined) {
      const noTokens = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
      const nothing = { requests: 0, errors: 0, ...noTokens, costNanos: 0n, lastAtMs: 0 };
      sum = { levelId, day, month: utcMonth(admittedAtMs), keyId, model, source, ...nothing };
      sums.push(sum);
      this.#sums.set(levelId, sums);
    }
    return sum;
  }
}
