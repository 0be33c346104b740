/** The words that benchmarks take. */
import type { Lengths } from './phases/bench.ts';

export const SHARED_HELP = `  --quick             two short rounds without the variants, to try it out
  --rounds N          more or fewer rounds than the usual 5
  --only TEXT         only the parts whose name has this text in it; leaves docs/benchmarks.md alone`;

/** As `parseArgs` wants them. */
export const SHARED_WORDS = {
  help: { type: 'boolean' },
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  only: { type: 'string', default: '' },
} as const;

/** Fewer tell too little to be quoted. */
const USUAL_ROUNDS = 5;
const QUICK_ROUNDS = 2;

export interface Options {
  readonly lengths: Lengths;
  readonly warmUpMs: number;
  readonly isQuick: boolean;
  readonly only: string;
  /** Whether the figures are worth quoting. */
  readonly isFull: boolean;
}

export interface SharedValues {
  readonly quick: boolean;
  readonly rounds?: string;
  readonly only: string;
}

export function optionsOf({ quick: isQuick, rounds: words, only }: SharedValues): Options {
  const rounds = Math.max(1, Number.parseInt(words ?? String(isQuick ? QUICK_ROUNDS : USUAL_ROUNDS), 10));
  const lengths: Lengths = { rounds, starts: isQuick ? 1 : rounds, scale: isQuick ? 0.25 : 1 };
  return { lengths, warmUpMs: isQuick ? 400 : 2_000, isQuick, only, isFull: !isQuick && rounds >= USUAL_ROUNDS };
}
