/**
 * Adds up what a batch of settled requests changes in days, months and the balance, and writes it
 * once per batch.
 */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import type { UsageSource } from '../../core/usage.ts';
import { SUM_COLUMNS } from '../sql.ts';
import type { Sqlite, Statement } from './database.ts';
import { ADD_FIGURES } from './sql.ts';

/** What the sums need of a request that has ended. */
export interface Summand {
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  readonly admittedAtMs: number;
  readonly isError: boolean;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
}

/** What requests add up to. */
export interface Figures {
  requests: number;
  errors: number;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  costNanos: Nanos;
  lastAtMs: number;
}

export function noFigures(): Figures {
  const noTokens = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
  return { requests: 0, errors: 0, ...noTokens, costNanos: 0n, lastAtMs: 0 };
}

/** Adds one request. */
export function count(figures: Figures, summand: Summand): void {
  figures.requests++;
  if (summand.isError) figures.errors++;
  figures.promptTokens += summand.promptTokens;
  figures.cachedTokens += summand.cachedTokens;
  figures.cacheWriteTokens += summand.cacheWriteTokens;
  figures.completionTokens += summand.completionTokens;
  figures.costNanos += summand.costNanos;
  figures.lastAtMs = Math.max(figures.lastAtMs, summand.admittedAtMs);
}

/** In the order of SUM_FIGURES. */
export function figuresOf(figures: Figures): readonly (number | Nanos)[] {
  const { requests, errors, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, costNanos } = figures;
  return [requests, errors, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, costNanos];
}

/** The sum of one key, model and source on one day. */
interface Sum extends Figures {
  readonly day: string;
  readonly month: string;
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
}

export class SumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  readonly #charge: Statement;
  /** Not written yet. */
  readonly #sums = new Map<string, Sum>();

  constructor(database: Sqlite) {
    this.#addDay = database.prepare(
      `INSERT INTO usage_days (day, ${SUM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`,
    );
    this.#addMonth = database.prepare(
      `INSERT INTO usage_months (month, ${SUM_COLUMNS}, last_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_FIGURES}, last_at_ms = max(last_at_ms, excluded.last_at_ms)`,
    );
    this.#charge = database.prepare('UPDATE account SET balance_nanos = balance_nanos - ?');
  }

  add(summand: Summand): void {
    count(this.#sumOf(summand), summand);
  }

  /** What a key is charged by requests that are not written yet: on those days, or in those months. */
  pendingCharge(keyId: string, counts: (sum: { readonly day: string; readonly month: string }) => boolean): Nanos {
    let nanos = 0n;
    for (const sum of this.#sums.values()) if (sum.keyId === keyId && counts(sum)) nanos += sum.costNanos;
    return nanos;
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    let costNanos = 0n;
    for (const sum of this.#sums.values()) {
      const values = [sum.keyId, sum.model, sum.source, ...figuresOf(sum)];
      this.#addDay.run(sum.day, ...values);
      this.#addMonth.run(sum.month, ...values, sum.lastAtMs);
      costNanos += sum.costNanos;
    }
    if (costNanos > 0n) this.#charge.run(costNanos);
    this.forget();
  }

  /** Discards what was added: the transaction was rolled back, and the requests with it. */
  forget(): void {
    this.#sums.clear();
  }

  #sumOf({ keyId, model, source, admittedAtMs }: Summand): Sum {
    const day = utcDay(admittedAtMs);
    // None of the parts contains a line break.
    const name = `${day}\n${keyId}\n${model}\n${source}`;
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      sum = { day, month: utcMonth(admittedAtMs), keyId, model, source, ...noFigures() };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}
