/** A row of the long run's table: one case, the worst of its figures, and its deviations. */
import { Lacking } from './real-disks.ts';

/** In milliseconds, by name. */
export interface Figures {
  /** Until the first request during the fault was answered. */
  readonly firstAnswerMs?: number;
  /** The slowest answer to a request after that one. */
  readonly slowestAnswerMs?: number;
  /** The longest delay of the event loop. */
  readonly loopDelayMs?: number;
  readonly slowestHealthMs?: number;
  /** From the repair until all requests had ended and `/readyz` said so. */
  readonly recoveryMs?: number;
  /** From the signal, or from a start that fails, to the end of the process. */
  readonly endMs?: number;
}

export interface Result {
  readonly figures: Figures;
  readonly deviations: readonly string[];
}

export type Work = () => Promise<Result>;

/** The columns, and the bound of each, which holds even on a busy machine. */
const COLUMNS: readonly { readonly figure: keyof Figures; readonly name: string; readonly boundMs: number }[] = [
  { figure: 'firstAnswerMs', name: 'first answer', boundMs: 4_000 },
  { figure: 'slowestAnswerMs', name: 'slowest after', boundMs: 1_500 },
  { figure: 'loopDelayMs', name: 'loop delay', boundMs: 500 },
  { figure: 'slowestHealthMs', name: '/healthz', boundMs: 750 },
  { figure: 'recoveryMs', name: 'recovery', boundMs: 3_000 },
  { figure: 'endMs', name: 'end', boundMs: 9_000 },
];
const NAME_WIDTH = 36;
const CELL_WIDTH = 14;

export class Row {
  static readonly head = lineOf('', [...COLUMNS.map(({ name }) => name), 'deviations']);
  readonly name: string;
  readonly deviations: string[] = [];
  readonly #work: Work;
  readonly #worst = new Map<keyof Figures, number>();
  /** What the machine lacks for this case. */
  #lacking: string | undefined;

  constructor(name: string, work: Work) {
    this.name = name;
    this.#work = work;
  }

  async run(): Promise<void> {
    if (this.#lacking !== undefined) return;
    try {
      const { figures, deviations } = await this.#work();
      for (const text of deviations) this.#deviate(text);
      this.#add(figures);
    } catch (error) {
      if (error instanceof Lacking) this.#lacking = error.message;
      else this.#deviate(String(error));
    }
  }

  get line(): string {
    if (this.#lacking !== undefined) return lineOf(this.name, [`needs ${this.#lacking}`]);
    const cells = COLUMNS.map(({ figure }) => this.#worst.get(figure)?.toFixed(0) ?? '');
    return lineOf(this.name, [...cells, String(this.deviations.length)]);
  }

  #add(figures: Figures): void {
    for (const { figure, name, boundMs } of COLUMNS) {
      const value = figures[figure];
      if (value === undefined) continue;
      this.#worst.set(figure, Math.max(value, this.#worst.get(figure) ?? 0));
      if (value > boundMs) this.#deviate(`${name} took ${value.toFixed(0)} ms`);
    }
  }

  #deviate(text: string): void {
    this.deviations.push(`${this.name}: ${text}`);
  }
}

function lineOf(name: string, cells: readonly string[]): string {
  return name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join('');
}
