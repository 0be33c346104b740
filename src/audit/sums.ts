/** Sums of the journal by key, model and source, held against those that stand in the file. Pure. */

/** A row of sums: of a day or of a month, as it is stored or as the journal comes to it. */
export interface SumRow {
  readonly key_id: string;
  readonly model: string;
  readonly source: string;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cost_nanos: bigint;
}

const FIGURES = ['requests', 'errors', 'prompt_tokens', 'completion_tokens', 'cost_nanos'] as const;

/** What the journal comes to in one period. */
export class Sums {
  readonly #sums = new Map<string, bigint[]>();

  add(row: SumRow): void {
    const name = nameOf(row);
    const sum = this.#sums.get(name);
    if (sum === undefined) this.#sums.set(name, figuresOf(row));
    else for (const [i, figure] of figuresOf(row).entries()) sum[i] = (sum[i] as bigint) + figure;
  }

  /** How the stored rows of the period differ: wrong, missing, or with no row of the journal behind them. */
  differences(period: string, stored: readonly SumRow[]): string[] {
    const differences: string[] = [];
    const missing = new Set(this.#sums.keys());
    for (const row of stored) {
      const name = nameOf(row);
      missing.delete(name);
      const expected = this.#sums.get(name);
      for (const [i, figure] of figuresOf(row).entries()) {
        if (figure === (expected?.[i] ?? 0n)) continue;
        differences.push(`${period} ${name}: ${FIGURES[i]} is ${figure}, but the journal has ${expected?.[i] ?? 0n}`);
      }
    }
    for (const name of missing) differences.push(`${period} ${name}: the sums are missing`);
    return differences;
  }
}

function nameOf({ key_id: keyId, model, source }: SumRow): string {
  return `${keyId} ${model} ${source}`;
}

function figuresOf(row: SumRow): bigint[] {
  return FIGURES.map((figure) => row[figure]);
}
