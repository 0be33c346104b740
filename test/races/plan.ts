/** The plan of a round: the limit, how much it admits, the clients, and what happens meanwhile. */
import { Random } from '../support/random.ts';

export const LIMITS = ['rpm', 'tpm', 'concurrency', 'spend', 'credit', 'budget'] as const;
export type Limit = (typeof LIMITS)[number];

const VARIANTS = [
  /** Every request declares its maximum, and uses it up. */
  'plain',
  /** Half of them declare no maximum, and use up to thirty times what was held. */
  'undeclared',
  /** The same, with `cap_output: true` and a host that obeys. */
  'capped',
  /** Half of the clients leave in the middle of their stream. */
  'hang-ups',
  /** Another connection changes the limit during the round. */
  'changed',
  /** As plain, on a gateway of several threads. */
  'threads',
  /** As changed, the limit being that of a group, for the keys in it. */
  'group',
  /** As changed, the limit being that of an end user, who comes by several keys of a group. */
  'user',
] as const;

/** `sequential`: clients that may have one request at a time send streams one after another. */
export type Variant = (typeof VARIANTS)[number] | 'sequential';

/** The number of requests, or of concurrent requests, that a limit admits. */
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

/** The settings that a round needs of its gateway. */
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
  /** The number of attempts of all clients together, at least. */
  readonly attempts: number;
  /** The maximum that requests declare. */
  readonly declaredTokens: number;
  /** The unused fraction of the next unit of a limit: from 0 to below 1. */
  readonly slack: number;
  /** The number of requests that the host gathers before it answers some of them. */
  readonly batch: number;
  readonly change: LimitChange | undefined;
}

export interface LimitChange {
  /** What the limit admits after the change. */
  readonly size: number;
  /** The request, counted at the host, at which the limit changes. */
  readonly atArrival: number;
  /** The number of clients before the change. The others start at the moment of the change. */
  readonly earlyClients: number;
}

/** The output tokens that the model holds if no maximum is declared. */
const DEFAULT_OUTPUT_TOKENS = 100;
/** The largest maximum that a request declares, well below the model's. */
const MAX_DECLARED_TOKENS = 400;
/** Few enough not to exhaust a limit at once. */
const MOST_EARLY_CLIENTS = 30;
/** The number of slots at most: each takes connections on both sides. */
const MAX_SLOTS = 700;

/** Draws a round. `scale` is a factor for the usual number of clients and attempts. */
export function drawRound(combination: Combination, seed: number, scale = 1): RoundPlan {
  const random = new Random(seed);
  const { limit, variant, size } = combination;
  const scaled = (count: number) => Math.ceil(count * scale);
  const change = ['changed', 'group', 'user'].includes(variant) ? drawChange(combination, random) : undefined;
  const most = Math.max(size, change?.size ?? 0);
  const sharesDefault = variant === 'undeclared' || variant === 'capped';
  const isConcurrency = limit === 'concurrency';
  const clients =
    (isConcurrency ? most : 0) + scaled(random.between(isConcurrency ? 50 : 100, isConcurrency ? 300 : 600));
  return {
    ...combination,
    random,
    clients,
    // Enough for every client to be refused while all slots are taken, and for slots to be reused.
    attempts: (isConcurrency ? 2 * most + 3 * clients : most + clients) + scaled(random.between(500, 2_000)),
    declaredTokens: sharesDefault ? DEFAULT_OUTPUT_TOKENS : random.between(1, MAX_DECLARED_TOKENS),
    slack: drawSlack(random),
    batch: isConcurrency ? size : Math.min(clients, random.chance(0.3) ? 1 : random.between(1, most)),
    change,
  };
}

/**
 * Off-by-one errors are at the boundaries: exactly enough, or one unit less than one more would
 * need.
 */
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
  // With no more clients than that, no slot is released before the change.
  return { ...change, atArrival, earlyClients: isConcurrency ? atArrival : random.between(1, MOST_EARLY_CLIENTS) };
}
