/** A row of the long run's table: one case, the worst of its figures, and its deviations. */
import { showRow } from '../support/campaign.ts';
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

export class Row {
  readonly name: string;
  readonly #work: Work;
  readonly #worst = new Map<keyof Figures, number>();
  /** What the machine lacks for this case. */
  #lacking: string | undefined;

  constructor(name: string, work: Work) {
    this.name = name;
    this.#work = work;
  }

  static showHead(): void {
    showRow(
      '',
      COLUMNS.map(({ name }) => name),
    );
  }

  /** Returns what is wrong. */
  async run(): Promise<readonly string[]> {
    if (this.#lacking !== undefined) return [];
    try {
      const { figures, deviations } = await this.#work();
      return [...deviations, ...this.#add(figures)].map((text) => `${this.name}: ${text}`);
    } catch (error) {
      if (!(error instanceof Lacking)) return [`${this.name}: ${error}`];
      this.#lacking = error.message;
      return [];
    }
  }

  show(): void {
    const cells = COLUMNS.map(({ figure }) => this.#worst.get(figure)?.toFixed(0) ?? '');
    showRow(this.name, this.#lacking === undefined ? cells : [`needs ${this.#lacking}`]);
  }

  /** Returns what took too long. */
  #add(figures: Figures): string[] {
    return COLUMNS.flatMap(({ figure, name, boundMs }) => {
      const value = figures[figure];
      if (value === undefined) return [];
      this.#worst.set(figure, Math.max(value, this.#worst.get(figure) ?? 0));
      return value > boundMs ? [`${name} took ${value.toFixed(0)} ms`] : [];
    });
  }
}
