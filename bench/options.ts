/** The options of the benchmarks. */
import type { Lengths } from './phases/bench.ts';

export const SHARED_HELP = `  --quick             two short rounds without the variants, to try the script
  --rounds N          the number of rounds; 5 by default
  --only TEXT         only workloads whose name contains TEXT; does not write docs/benchmarks.md`;

/** For `parseArgs`. */
export const SHARED_OPTIONS = {
  help: { type: 'boolean' },
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  only: { type: 'string', default: '' },
} as const;

/** Figures of fewer rounds must not be quoted. */
const USUAL_ROUNDS = 5;
const QUICK_ROUNDS = 2;

export interface Options {
  readonly lengths: Lengths;
  readonly warmUpMs: number;
  readonly isQuick: boolean;
  readonly only: string;
  /** Whether the figures may be quoted. */
  readonly isFull: boolean;
}

export interface SharedValues {
  readonly quick: boolean;
  readonly rounds?: string;
  readonly only: string;
}

export function optionsOf({ quick: isQuick, rounds: text, only }: SharedValues): Options {
  const rounds = Math.max(1, Number.parseInt(text ?? String(isQuick ? QUICK_ROUNDS : USUAL_ROUNDS), 10));
  const lengths: Lengths = { rounds, starts: isQuick ? 1 : rounds, scale: isQuick ? 0.25 : 1 };
  return { lengths, warmUpMs: isQuick ? 400 : 2_000, isQuick, only, isFull: !isQuick && rounds >= USUAL_ROUNDS };
}
