/** The sums that a journal comes to, held against those that stand in the file. Pure. */

/** A row of the journal, as it is stored. */
export interface JournalRow {
  readonly id: bigint;
  readonly request_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly admitted_at_ms: bigint;
  readonly outcome: string;
  readonly source: string;
  readonly prompt_tokens: bigint;
  readonly cached_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cost_nanos: bigint;
}

interface Figures {
  readonly requests: bigint;
  readonly errors: bigint;
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cost_nanos: bigint;
}

/** The sums of a day, by key and model, as they are stored. */
export interface StoredDay extends Figures {
  readonly day: string;
  readonly key_id: string;
  readonly model: string;
}

/** The sums of a month, by key, as they are stored. */
export interface StoredMonth {
  readonly key_id: string;
  readonly month: string;
  readonly requests: bigint;
  readonly tokens: bigint;
  readonly cost_nanos: bigint;
}

/** These ends of a request are no errors. */
const NO_ERROR: ReadonlySet<string> = new Set(['ok', 'cancelled']);

/** Sums under names, each a row of whole numbers. */
class Sums {
  readonly #sums = new Map<string, bigint[]>();

  add(name: string, figures: readonly bigint[]): void {
    const sum = this.#sums.get(name);
    if (sum === undefined) this.#sums.set(name, [...figures]);
    else for (const [i, figure] of figures.entries()) sum[i] = (sum[i] ?? 0n) + figure;
  }

  /** What differs from the stored sums: wrong, missing, or with no row of the journal behind it. */
  differences(
    stored: Iterable<readonly [name: string, figures: readonly bigint[]]>,
    heads: readonly string[],
  ): string[] {
    const differences: string[] = [];
    const seen = new Set<string>();
    for (const [name, figures] of stored) {
      seen.add(name);
      const expected = this.#sums.get(name) ?? heads.map(() => 0n);
      for (const [i, head] of heads.entries()) {
        if (figures[i] !== expected[i])
          differences.push(`${name}: ${head} is ${figures[i]}, but the journal has ${expected[i]}`);
      }
    }
    for (const name of this.#sums.keys()) if (!seen.has(name)) differences.push(`${name}: the sums are missing`);
    return differences;
  }
}

export class DaySums {
  readonly #sums = new Sums();

  add(row: JournalRow): void {
    const day = new Date(Number(row.admitted_at_ms)).toISOString().slice(0, 10);
    const errors = NO_ERROR.has(row.outcome) ? 0n : 1n;
    this.#sums.add(`${day} ${row.key_id} ${row.model}`, [
      1n,
      errors,
      row.prompt_tokens,
      row.completion_tokens,
      row.cost_nanos,
    ]);
  }

  differences(stored: readonly StoredDay[]): string[] {
    const rows = stored.map((row) => {
      const figures = [row.requests, row.errors, row.prompt_tokens, row.completion_tokens, row.cost_nanos];
      return [`${row.day} ${row.key_id} ${row.model}`, figures] as const;
    });
    return this.#sums.differences(rows, ['requests', 'errors', 'prompt_tokens', 'completion_tokens', 'cost_nanos']);
  }
}

export class MonthSums {
  readonly #sums = new Sums();

  add(row: JournalRow): void {
    const month = new Date(Number(row.admitted_at_ms)).toISOString().slice(0, 7);
    this.#sums.add(`${month} ${row.key_id}`, [1n, row.prompt_tokens + row.completion_tokens, row.cost_nanos]);
  }

  differences(stored: readonly StoredMonth[]): string[] {
    const rows = stored.map(
      (row) => [`${row.month} ${row.key_id}`, [row.requests, row.tokens, row.cost_nanos]] as const,
    );
    return this.#sums.differences(rows, ['requests', 'tokens', 'cost_nanos']);
  }
}
