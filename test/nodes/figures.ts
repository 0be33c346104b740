/** What a campaign counts and times. */

/** The bounds that a user is promised, in milliseconds, and what each is for. */
const BOUNDS = {
  'refused while the database is gone': 5_000,
  'refused on a silent link': 10_000,
  'not ready after the database has gone': 5_000,
  'not ready after the link fell silent': 10_000,
  'serving after the database has come back': 10_000,
  'holds of a dead gateway charged': 15_000,
  'name free after a kill': 10_000,
} as const;
export type Bound = keyof typeof BOUNDS;

export class Figures {
  readonly deviations: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #times = new Map<Bound, number[]>();

  count(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  time(bound: Bound, milliseconds: number): void {
    const times = this.#times.get(bound) ?? [];
    times.push(milliseconds);
    this.#times.set(bound, times);
  }

  /** How many times were longer than promised. Only the long campaign asks: a busy machine makes them long. */
  get late(): number {
    return [...this.#times].reduce((sum, [bound, times]) => sum + times.filter((ms) => ms > BOUNDS[bound]).length, 0);
  }

  /** One line for each figure. */
  get lines(): string[] {
    const counts = [...this.#counts].map(
      ([name, count]) => `${name.padEnd(48)}${count.toLocaleString('en').padStart(12)}`,
    );
    const times = [...this.#times].map(([bound, times]) => {
      const [worst, half] = [Math.max(...times), times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0];
      const figures = `worst ${Math.round(worst)} ms, median ${Math.round(half)} ms of ${times.length}`;
      return `${bound.padEnd(48)}${figures} (bound ${BOUNDS[bound]} ms)`;
    });
    return [...counts, ...times];
  }
}
