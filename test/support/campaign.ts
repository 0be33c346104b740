/**
 * A campaign: a proof at length, that is run now and then. It is the default export of a file `NAME.campaign.ts` beside what
 * it uses, and `npm run prove -- NAME` runs it.
 */
import { Random } from './random.ts';
import { RunScope } from './run-scope.ts';

type Options = Readonly<Record<string, string | number | boolean>>;

interface Description<Amounts, Others> {
  /** What it proves or measures. */
  readonly proves: string;
  /** How much it does, unless it is told; with `--minutes` it is as much as it can do by then. */
  readonly amounts?: Amounts;
  /** Its other options. Like amounts they have a default, and its type. */
  readonly options?: Others;
  /** Its part of an hour that all campaigns share. Without one it is only run by its name. */
  readonly minutes?: number;
  /** Resolves with what was done. Whatever is wrong goes to the course; to reject is wrong as well. */
  run(course: Course, options: Amounts & Others): Promise<string>;
}

export type Campaign = Description<Readonly<Record<string, number>>, Options>;

export function campaign<Amounts extends Readonly<Record<string, number>>, Others extends Options>(
  description: Description<Amounts, Others>,
): Campaign {
  // The runner passes exactly what is described.
  return description as unknown as Campaign;
}

const MS_PER_MINUTE = 60_000;
const MOST_SHOWN = 20;
const SHOWN_CHARACTERS = 4_000;
const NAME_WIDTH = 44;
const CELL_WIDTH = 12;

/** One run of a campaign: its seed, its time, what is wrong, and what is to be done at its end. */
export class Course extends RunScope {
  readonly seed: number;
  readonly random: Random;
  readonly minutes: number | undefined;
  readonly #startedAtMs = performance.now();
  #deviations = 0;

  constructor(seed: number, minutes: number | undefined) {
    super();
    this.seed = seed;
    this.random = new Random(seed);
    this.minutes = minutes;
  }

  get deviations(): number {
    return this.#deviations;
  }

  get seconds(): number {
    return (performance.now() - this.#startedAtMs) / 1_000;
  }

  /** Whether that share of its time is over. Without a time it never is. */
  isOver(share = 1): boolean {
    return this.minutes !== undefined && this.seconds * 1_000 >= this.minutes * share * MS_PER_MINUTE;
  }

  /** Something is wrong. */
  deviate(...texts: readonly string[]): void {
    for (const text of texts) {
      this.#deviations++;
      if (this.#deviations <= MOST_SHOWN) console.error(`${eraseLine()}${text.slice(0, SHOWN_CHARACTERS)}`);
      if (this.#deviations === MOST_SHOWN) console.error('what is wrong from here on is only counted');
    }
  }

  /** How far it has come, on a terminal. */
  progress(done: number, of: number, what: string): void {
    if (!process.stdout.isTTY) return;
    const most = Number.isFinite(of) ? ` of ${shown(of)}` : '';
    process.stdout.write(`${eraseLine()}${shown(done)}${most} ${what}, ${this.#deviations} deviations `);
  }
}

/** Prints figures, one below the other. */
export function show(figures: Readonly<Record<string, number | string>>): void {
  for (const [name, figure] of Object.entries(figures)) showRow(name, [figure]);
}

/** Prints a row of a table. */
export function showRow(name: string, cells: readonly (number | string)[]): void {
  console.log(
    eraseLine() + name.padEnd(NAME_WIDTH) + cells.map((cell) => ` ${shown(cell)}`.padStart(CELL_WIDTH)).join(''),
  );
}

/** A part of what `only` may name. Throws if it names nothing. */
export function chosen<T>(all: readonly T[], only: string, nameOf: (each: T) => string): T[] {
  const found = all.filter((each) => nameOf(each).includes(only));
  if (found.length > 0) return found;
  throw new Error(`--only ${only}: it is in none of these names: ${all.map(nameOf).join(', ')}`);
}

function shown(figure: number | string): string {
  if (typeof figure === 'string') return figure;
  return figure.toLocaleString('en', { maximumFractionDigits: Math.abs(figure) < 10 ? 2 : 0 });
}

/** What stands on the line of a terminal is progress. */
function eraseLine(): string {
  return process.stdout.isTTY ? '\r\u001b[K' : '';
}
