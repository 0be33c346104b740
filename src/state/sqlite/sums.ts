/** What requests come to in days, in months and in the balance: gathered while a batch is decided, and written once for it. */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import type { UsageSource } from '../../core/usage.ts';
import type { Sqlite, Statement } from './database.ts';

/** A request that has ended, as far as the sums are concerned. */
export interface Summand {
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  readonly admittedAtMs: number;
  readonly isError: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
}

/** Of one key, model and source, on one day. */
interface Sum {
  readonly day: string;
  readonly month: string;
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  requests: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  costNanos: Nanos;
  lastAtMs: number;
}

/** What is kept of a day, and of a month. */
const SUMMED = 'key_id, model, source, requests, errors, prompt_tokens, completion_tokens, cost_nanos';
const ADD_TO_SUMS = `requests = requests + excluded.requests, errors = errors + excluded.errors,
  prompt_tokens = prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + excluded.completion_tokens,
  cost_nanos = cost_nanos + excluded.cost_nanos`;

export class SumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  readonly #charge: Statement;
  /** What the file has not got yet. */
  readonly #sums = new Map<string, Sum>();

  constructor(database: Sqlite) {
    this.#addDay = database.prepare(
      `INSERT INTO usage_days (day, ${SUMMED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_TO_SUMS}`,
    );
    this.#addMonth = database.prepare(
      `INSERT INTO usage_months (month, ${SUMMED}, last_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${ADD_TO_SUMS}, last_at_ms = max(last_at_ms, excluded.last_at_ms)`,
    );
    this.#charge = database.prepare('UPDATE account SET balance_nanos = balance_nanos - ?');
  }

  add(summand: Summand): void {
    const sum = this.#sumOf(summand);
    sum.requests++;
    if (summand.isError) sum.errors++;
    sum.promptTokens += summand.promptTokens;
    sum.completionTokens += summand.completionTokens;
    sum.costNanos += summand.costNanos;
    sum.lastAtMs = Math.max(sum.lastAtMs, summand.admittedAtMs);
  }

  /** What a key is charged in a month by what is not written yet. */
  pendingCharge(keyId: string, month: string): Nanos {
    let nanos = 0n;
    for (const sum of this.#sums.values()) if (sum.keyId === keyId && sum.month === month) nanos += sum.costNanos;
    return nanos;
  }

  /** Writes all that was added. It belongs into the transaction that writes the requests. */
  write(): void {
    let costNanos = 0n;
    for (const sum of this.#sums.values()) {
      const { keyId, model, source, requests, errors, promptTokens, completionTokens } = sum;
      const figures = [keyId, model, source, requests, errors, promptTokens, completionTokens, sum.costNanos];
      this.#addDay.run(sum.day, ...figures);
      this.#addMonth.run(sum.month, ...figures, sum.lastAtMs);
      costNanos += sum.costNanos;
    }
    if (costNanos > 0n) this.#charge.run(costNanos);
    this.forget();
  }

  /** The transaction was taken back, and with it the requests. */
  forget(): void {
    this.#sums.clear();
  }

  #sumOf({ keyId, model, source, admittedAtMs }: Summand): Sum {
    const day = utcDay(admittedAtMs);
    // Neither has a line break in it.
    const name = `${day}\n${keyId}\n${model}\n${source}`;
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      const nothing = { requests: 0, errors: 0, promptTokens: 0, completionTokens: 0, costNanos: 0n, lastAtMs: 0 };
      sum = { day, month: utcMonth(admittedAtMs), keyId, model, source, ...nothing };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}
