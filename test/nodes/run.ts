/**
 * Many gateways on one database, the long run: `npm run test:nodes [-- --minutes N] [--rounds N] [--seed N] [--what NAME]`.
 * Exits with 1 if anything deviates or comes later than promised.
 */
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { Cluster } from './cluster.ts';
import { DISTURBANCES, type DisturbanceName } from './disturbances.ts';
import { Figures } from './figures.ts';
import { fightForName } from './names.ts';
import { meetOutage } from './outage.ts';
import { LIMITS, race } from './races.ts';
import { Rounds } from './rounds.ts';

const NODES = 4;
const RACERS = 1_500;
const PACE = { clientsPerNode: 12, restMs: 0 };
/** Longer than it takes until a gateway is taken for dead. */
const OUTAGE_MS = 9_000;
const MOST_SHOWN = 20;

/** How many rounds of each kind the whole campaign has. */
const ROUNDS: Readonly<Record<string, number>> = {
  races: 2,
  outage: 3,
  names: 3,
  kill: 100,
  cut: 20,
  crash: 20,
  stop: 10,
  silence: 8,
  hold: 5,
  'half-close': 4,
  'slow-50': 3,
  'slow-300': 3,
  lock: 3,
};
const KINDS = Object.keys(ROUNDS);

interface Part {
  readonly kind: string;
  readonly seed: number;
}

/** The rounds of a run in the order in which they are run. */
function drawParts(kinds: readonly string[], rounds: number | undefined, random: Random): Part[] {
  return kinds.flatMap((kind) => {
    const count = rounds ?? ROUNDS[kind] ?? 0;
    return Array.from({ length: count }, () => ({ kind, seed: random.between(0, 2 ** 31) }));
  });
}

class Campaign {
  readonly figures = new Figures();
  readonly #scope: RunScope;
  readonly #cluster: Cluster;
  readonly #rounds: Rounds;

  constructor(scope: RunScope, cluster: Cluster) {
    this.#scope = scope;
    this.#cluster = cluster;
    this.#rounds = new Rounds(cluster, this.figures, PACE);
  }

  async run({ kind, seed }: Part): Promise<void> {
    const { figures } = this;
    const before = figures.deviations.length;
    const lateBefore = figures.late;
    await this.#runKind(kind, new Random(seed)).catch((error: Error) =>
      figures.deviations.push(`${kind}: ${error.stack}`),
    );
    if (figures.late > lateBefore) console.error(`\n${kind}, seed ${seed}: later than promised`);
    for (const text of figures.deviations.slice(before, before + MOST_SHOWN))
      console.error(`\n${text.slice(0, 1_000)}`);
    if (figures.deviations.length > before)
      console.error(`again: npm run test:nodes -- --what ${kind} --rounds 1 --seed ${seed}`);
  }

  async #runKind(kind: string, random: Random): Promise<void> {
    switch (kind) {
      case 'races':
        for (const limit of LIMITS) await race(this.#cluster, limit, RACERS, random, this.figures);
        return;
      case 'outage':
        return meetOutage(this.#cluster, OUTAGE_MS, this.figures);
      case 'names':
        return fightForName(this.#scope, this.#cluster, this.figures);
      default:
        return this.#rounds.run(kind as DisturbanceName, random);
    }
  }
}

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '600' },
      rounds: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      what: { type: 'string', default: KINDS.join(',') },
    },
  });
  const kinds = values.what.split(',');
  const unknown = kinds.filter((kind) => !KINDS.includes(kind) && !Object.hasOwn(DISTURBANCES, kind));
  if (unknown.length > 0) throw new Error(`--what takes ${KINDS.join(', ')}, and not ${unknown.join(', ')}`);
  console.log(`seed ${values.seed}`);
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const isOne = rounds === 1 && kinds.length === 1;
  const parts = isOne
    ? [{ kind: kinds[0] as string, seed: Number(values.seed) }]
    : drawParts(kinds, rounds, new Random(Number(values.seed)));
  const endsAtMs = performance.now() + Number(values.minutes) * 60_000;
  const campaign = new Campaign(scope, await Cluster.open(scope, NODES));
  const { figures } = campaign;
  let done = 0;
  for (const part of parts) {
    if (performance.now() > endsAtMs) break;
    await campaign.run(part);
    done++;
    const progress = `${done} of ${parts.length} rounds (${part.kind}), ${figures.deviations.length} deviations`;
    if (process.stdout.isTTY) process.stdout.write(`\r${progress} `);
  }
  console.log(`\n${figures.lines.join('\n')}`);
  console.log(`${done} rounds, ${figures.deviations.length} deviations, ${figures.late} times later than promised`);
  return figures.deviations.length === 0 && figures.late === 0;
}

await runToEnd(main);
