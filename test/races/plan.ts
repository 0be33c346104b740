/** What a round of the races is: which limit, how much it admits, who takes part, and what goes on meanwhile. */
import { Random } from '../support/random.ts';

export const LIMITS = ['rpm', 'tpm', 'concurrency', 'spend', 'credit'] as const;
export type Limit = (typeof LIMITS)[number];

export const VARIANTS = [
  /** Every request declares its maximum, and uses it up. */
  'plain',
  /** Half of them declare none, and use up to thirty times what was held. */
  'undeclared',
  /** The same, with `cap_output: true` and a host that obeys. */
  'capped',
  /** Half of the clients leave in the middle of their stream. */
  'hang-ups',
  /** Another connection changes the limit in mid-run. */
  'changed',
  /** As plain, on a gateway of several threads. */
  'threads',
] as const;

/** `sequential`: clients that may have one request at a time send streams one after another. */
export type Variant = (typeof VARIANTS)[number] | 'sequential';

/** How many requests, or requests at once, a limit admits. */
export const SIZES = [1, 37, 600] as const;

export interface Combination {
  readonly limit: Limit;
  readonly variant: Variant;
  readonly size: number;
}

export const COMBINATIONS: readonly Combination[] = [
  ...LIMITS.flatMap((limit) => VARIANTS.flatMap((variant) => SIZES.map((size) => ({ limit, variant, size })))),
  ...SIZES.map((size) => ({ limit: 'concurrency', variant: 'sequential', size }) as const),
];

export function nameOf({ limit, variant, size }: Combination): string {
  return `${limit}, ${variant}, ${size}`;
}

/** What a round needs of its gateway. */
export interface Setting {
  readonly capOutput: boolean;
  readonly threads: number;
}

const MOST_THREADS = 3;

export function settingFor({ variant }: Combination, seed: number): Setting {
  const threads = variant === 'threads' ? new Random(seed).between(2, MOST_THREADS) : 1;
  return { capOutput: variant === 'capped', threads };
}

export interface RoundPlan extends Combination {
  readonly random: Random;
  readonly clients: number;
  /** The least number of attempts, all clients together. */
  readonly attempts: number;
  /** The maximum that requests declare. */
  readonly declaredTokens: number;
  /** How much of the next unit of a limit is left over: from 0 to below 1. */
  readonly slack: number;
  /** How many requests the host gathers before it answers some of them. */
  readonly batch: number;
  readonly change: LimitChange | undefined;
}

export interface LimitChange {
  /** What the limit admits afterwards. */
  readonly size: number;
  /** With which request that the host receives. */
  readonly atArrival: number;
  /** How many clients are there before the change. The others set out at the very moment at which it is made. */
  readonly earlyClients: number;
}

/** What the model that is asked for holds as output where no maximum is declared. */
export const DEFAULT_OUTPUT_TOKENS = 100;
/** The most tokens that a request declares, well below what the model can give. */
const MAX_DECLARED_TOKENS = 400;
/** Few enough that they do not use up a limit at once. */
const MOST_EARLY_CLIENTS = 30;
/** More slots than this are never given: each of them takes connections to both sides. */
const MAX_SLOTS = 700;

/** Draws a round. `scale` makes it smaller: of the usual number of clients and attempts. */
export function drawRound(combination: Combination, seed: number, scale = 1): RoundPlan {
  const random = new Random(seed);
  const { limit, variant, size } = combination;
  const scaled = (count: number) => Math.ceil(count * scale);
  const change = variant === 'changed' ? drawChange(combination, random) : undefined;
  const most = Math.max(size, change?.size ?? 0);
  const sharesDefault = variant === 'undeclared' || variant === 'capped';
  const isConcurrency = limit === 'concurrency';
  const clients =
    (isConcurrency ? most : 0) + scaled(random.between(isConcurrency ? 50 : 100, isConcurrency ? 300 : 600));
  return {
    ...combination,
    random,
    clients,
    // Enough for every client to be refused while all slots are taken, and for slots to be taken again.
    attempts: (isConcurrency ? 2 * most + 3 * clients : most + clients) + scaled(random.between(500, 2_000)),
    declaredTokens: sharesDefault ? DEFAULT_OUTPUT_TOKENS : random.between(1, MAX_DECLARED_TOKENS),
    slack: drawSlack(random),
    batch: isConcurrency ? size : Math.min(clients, random.chance(0.3) ? 1 : random.between(1, most)),
    change,
  };
}

/** Limits are wrong by one at their edges: no more than exactly enough, or all but one unit more. */
function drawSlack(random: Random): number {
  const edges = [0, 1 - Number.EPSILON];
  return edges[random.between(0, 2)] ?? random.fraction();
}

function drawChange({ limit, size }: Combination, random: Random): LimitChange {
  const isConcurrency = limit === 'concurrency';
  const other = random.between(1, isConcurrency ? Math.min(2 * size, MAX_SLOTS) : 2 * size);
  const change = { size: other === size ? size + 1 : other };
  if (random.chance(0.5)) {
    const atArrival = random.between(1, isConcurrency ? 2 * size : size);
    return { ...change, atArrival, earlyClients: Number.POSITIVE_INFINITY };
  }
  const atArrival = random.between(1, size);
  // Nobody gets a slot back before the change if there are no more clients than that.
  return { ...change, atArrival, earlyClients: isConcurrency ? atArrival : random.between(1, MOST_EARLY_CLIENTS) };
}
