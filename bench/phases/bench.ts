/** What all parts of a benchmark work with: the processes, the rows that they fill, and the answers that they count. */
import { readFileSync } from 'node:fs';
import { type Load, LoadFailure, type Upstream } from '../helpers.ts';
import type { Rows } from '../rows.ts';
import type { Access, Started } from '../start-server.ts';
import type { Server } from '../targets.ts';

/** Of columns: the upstream with nothing before it. */
export const FLOOR = 'upstream alone';

/** Of what a server has written to stderr, where it fails. */
const LAST_WORDS = 2_000;

/** What the load is sent to. */
export interface Subject extends Access {
  readonly name: string;
  readonly mayFail: boolean;
  /** The upstream has none. */
  readonly logPath?: string;
}

export function floorOf(upstream: Upstream): Subject {
  return { name: FLOOR, port: upstream.port, key: '', headers: [], mayFail: false };
}

export interface Lengths {
  readonly rounds: number;
  readonly starts: number;
  /** Of the usual lengths. */
  readonly scale: number;
}

export class Bench {
  readonly load: Load;
  readonly upstream: Upstream;
  readonly servers: readonly Server[];
  readonly rows: Rows;
  readonly lengths: Lengths;
  readonly #answers = new Map<string, number>();
  readonly #startedAtMs = performance.now();

  constructor(parts: Pick<Bench, 'load' | 'upstream' | 'servers' | 'rows' | 'lengths'>) {
    this.load = parts.load;
    this.upstream = parts.upstream;
    this.servers = parts.servers;
    this.rows = parts.rows;
    this.lengths = parts.lengths;
  }

  /** There and back again, so that nobody always comes first. */
  inTurn<T>(all: readonly T[], round: number): readonly T[] {
    return round % 2 === 0 ? all : all.toReversed();
  }

  async start(server: Server): Promise<Started> {
    const started = await server.start();
    this.countAnswers(server.name, 1);
    return started;
  }

  countAnswers(name: string, answers: number): void {
    this.#answers.set(name, (this.#answers.get(name) ?? 0) + answers);
  }

  /** Throws where a server has not booked each of its answers once. */
  audit(): void {
    for (const server of this.servers) {
      const fault = server.audit(this.#answers.get(server.name) ?? 0);
      if (fault !== undefined) throw new Error(fault);
    }
  }

  /** Does the work; undefined where it was too much for a target that may fail. */
  async attempt<T>(what: string, target: Subject, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LoadFailure)) throw error;
      if (!target.mayFail) throw new Error(`${target.name}: ${what}: ${error.message}\n${lastWords(target)}`);
      this.tell(`${target.name} fails at ${what}: ${error.message}`);
      return undefined;
    }
  }

  /** For whoever waits. */
  tell(what: string): void {
    const seconds = Math.round((performance.now() - this.#startedAtMs) / 1000);
    console.error(`${String(seconds).padStart(4)} s  ${what}`);
  }
}

function lastWords({ logPath }: Subject): string {
  return logPath === undefined ? '' : readFileSync(logPath, 'utf8').slice(-LAST_WORDS);
}
