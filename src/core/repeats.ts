/** Counts frequent events and reports each kind at most once per interval. */
export class Repeats<What> {
  readonly #counts = new Map<What, number>();
  readonly #everyMs: number;
  readonly #report: (count: number, what: What) => void;

  /** `report` is called `everyMs` milliseconds after the first event of a kind since its last report. */
  constructor(everyMs: number, report: (count: number, what: What) => void) {
    this.#everyMs = everyMs;
    this.#report = report;
  }

  count(what: What): void {
    const counted = this.#counts.get(what) ?? 0;
    this.#counts.set(what, counted + 1);
    if (counted === 0) setTimeout(() => this.#tell(what), this.#everyMs).unref();
  }

  #tell(what: What): void {
    const count = this.#counts.get(what) ?? 0;
    this.#counts.delete(what);
    this.#report(count, what);
  }
}
