/** The measurements of a benchmark: rows of values, by target and round. */
import { median, medianOfPairs } from '../test/support/statistics.ts';

/** How a row of the table is labelled and formatted. */
export interface Shape {
  readonly label: string;
  readonly digits: number;
  /** A latency is also shown as the difference from the upstream alone. */
  readonly shows: 'value' | 'latency';
}

/** The value of a round in which the workload was too much for the target. */
const FAILED = Number.NaN;

export class Row {
  readonly name: string;
  readonly shape: Shape;
  readonly #values = new Map<string, number[]>();

  constructor(name: string, shape: Shape) {
    this.name = name;
    this.shape = shape;
  }

  add(target: string, value: number | undefined): void {
    this.#values.set(target, [...(this.#values.get(target) ?? []), value ?? FAILED]);
  }

  /** Whether the target failed in any round. */
  hasFailed(target: string): boolean {
    return this.#values.get(target)?.some(Number.isNaN) ?? false;
  }

  /**
   * The median over the rounds. As the others here, undefined if the target was not measured, or
   * failed.
   */
  median(target: string): number | undefined {
    const values = this.#of(target);
    return values && median(values);
  }

  /**
   * The median of the ratios, round by round. It varies less than the ratio of the medians: while
   * the machine is slow, it is slow for both.
   */
  ratio(target: string, other: string): number | undefined {
    return this.#compare(target, other, (value, partner) => value / partner);
  }

  /** The median of the differences, round by round. */
  difference(target: string, other: string): number | undefined {
    return this.#compare(target, other, (value, partner) => value - partner);
  }

  #compare(target: string, other: string, compare: (value: number, partner: number) => number): number | undefined {
    const [values, partners] = [this.#of(target), this.#of(other)];
    return values && partners && medianOfPairs(values, partners, compare);
  }

  #of(target: string): readonly number[] | undefined {
    return this.hasFailed(target) ? undefined : this.#values.get(target);
  }
}

export class Rows {
  readonly #rows = new Map<string, Row>();

  get all(): Row[] {
    return [...this.#rows.values()];
  }

  get(name: string): Row | undefined {
    return this.#rows.get(name);
  }

  /** Adds the value of a round; undefined if the target failed. */
  add(section: string, shape: Shape, target: string, value: number | undefined): void {
    const name = rowName(section, shape.label);
    const row = this.#rows.get(name) ?? new Row(name, shape);
    row.add(target, value);
    this.#rows.set(name, row);
  }
}

export function rowName(section: string, label: string): string {
  return `${section}: ${label}`;
}
