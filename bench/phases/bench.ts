/**
 * What the phases of a benchmark share: the processes, the rows to fill, and the count of answers.
 */
import { readFileSync } from 'node:fs';
import { type Load, LoadFailure, type Upstream } from '../helpers.ts';
import type { Rows } from '../rows.ts';
import type { Access, Started } from '../start-server.ts';
import type { Server } from '../targets.ts';

/** The column of the upstream with nothing in front of it. */
export const FLOOR = 'upstream alone';

/** How much of the stderr of a failed server is shown, in characters. */
const LOG_TAIL = 2_000;

/** A server that load is sent to. */
export interface Subject extends Access {
  readonly name: string;
  readonly mayFail: boolean;
  /** Undefined for the upstream. */
  readonly logPath?: string;
}

export function floorOf(upstream: Upstream): Subject {
  return { name: FLOOR, port: upstream.port, key: '', headers: [], mayFail: false };
}

export interface Lengths {
  readonly rounds: number;
  readonly starts: number;
  /** The factor on the usual durations. */
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

  /** Every other round in reverse order, so that nobody always comes first. */
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

  /** Throws if a server has not accounted for each of its answers exactly once. */
  audit(): void {
    for (const server of this.servers) {
      const problem = server.audit(this.#answers.get(server.name) ?? 0);
      if (problem !== undefined) throw new Error(problem);
    }
  }

  /** Does the work. Undefined if it was too much for a target that may fail. */
  async attempt<T>(what: string, target: Subject, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LoadFailure)) throw error;
      if (!target.mayFail) throw new Error(`${target.name}: ${what}: ${error.message}\n${logTail(target)}`);
      this.report(`${target.name} fails at ${what}: ${error.message}`);
      return undefined;
    }
  }

  /** Shows progress. */
  report(what: string): void {
    const seconds = Math.round((performance.now() - this.#startedAtMs) / 1000);
    console.error(`${String(seconds).padStart(4)} s  ${what}`);
  }
}

function logTail({ logPath }: Subject): string {
  return logPath === undefined ? '' : readFileSync(logPath, 'utf8').slice(-LOG_TAIL);
}
