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

/** The sum of one key, model and source on one day. */
interface Sum {
  readonly day: string;
  readonly month: string;
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  requests: number;
  errors: number;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  costNanos: Nanos;
  lastAtMs: number;
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
    const sum = this.#sumOf(summand);
    sum.requests++;
    if (summand.isError) sum.errors++;
    sum.promptTokens += summand.promptTokens;
    sum.cachedTokens += summand.cachedTokens;
    sum.cacheWriteTokens += summand.cacheWriteTokens;
    sum.completionTokens += summand.completionTokens;
    sum.costNanos += summand.costNanos;
    sum.lastAtMs = Math.max(sum.lastAtMs, summand.admittedAtMs);
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
      const { keyId, model, source, requests, errors, completionTokens } = sum;
      const input = [sum.promptTokens, sum.cachedTokens, sum.cacheWriteTokens];
      const figures = [keyId, model, source, requests, errors, ...input, completionTokens, sum.costNanos];
      this.#addDay.run(sum.day, ...figures);
      this.#addMonth.run(sum.month, ...figures, sum.lastAtMs);
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
      const noTokens = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
      const nothing = { requests: 0, errors: 0, ...noTokens, costNanos: 0n, lastAtMs: 0 };
      sum = { day, month: utcMonth(admittedAtMs), keyId, model, source, ...nothing };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}
