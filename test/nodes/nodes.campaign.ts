/** Many gateways on one database, at length: races, outages, and every disturbance, in rounds in a random order. */
import { type Course, campaign } from '../support/campaign.ts';
import { Random } from '../support/random.ts';
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

/** How many rounds of each kind the whole campaign has. */
const ROUNDS: Readonly<Record<string, number>> = {
  races: 2,
  outage: 3,
  names: 3,
  kill: 100,
  'kill-all': 20,
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

/** The rounds of a run: of each kind as many as are told, or as it has. */
function drawParts(kinds: readonly string[], rounds: number, { seed, random }: Course): Part[] {
  // What has failed is played again by its own seed.
  if (rounds === 1 && kinds.length === 1) return kinds.map((kind) => ({ kind, seed }));
  const draw = (kind: string) => ({ kind, seed: random.between(0, 2 ** 31) });
  const all = kinds.flatMap((kind) => Array.from({ length: rounds || ROUNDS[kind] || 0 }, () => draw(kind)));
  return random.shuffled(all);
}

class Campaign {
  readonly figures = new Figures();
  readonly #course: Course;
  readonly #cluster: Cluster;
  readonly #rounds: Rounds;

  constructor(course: Course, cluster: Cluster) {
    this.#course = course;
    this.#cluster = cluster;
    this.#rounds = new Rounds(cluster, this.figures, PACE);
  }

  async run({ kind, seed }: Part): Promise<void> {
    const { deviations, late } = this.figures;
    const before = deviations.length;
    await this.#runKind(kind, new Random(seed)).catch((error: Error) => deviations.push(`${kind}: ${error.stack}`));
    const found = deviations.slice(before);
    if (this.figures.late > late) found.push('later than promised');
    const again = `again: npm run prove -- nodes --what ${kind} --rounds 1 --seed ${seed}`;
    this.#course.deviate(...found.map((text) => `${kind}: ${text}\n${again}`));
  }

  async #runKind(kind: string, random: Random): Promise<void> {
    switch (kind) {
      case 'races':
        for (const limit of LIMITS) await race(this.#cluster, limit, RACERS, random, this.figures);
        return;
      case 'outage':
        return meetOutage(this.#cluster, OUTAGE_MS, this.figures);
      case 'names':
        return fightForName(this.#course, this.#cluster, this.figures);
      default:
        return this.#rounds.run(kind as DisturbanceName, random);
    }
  }
}

export default campaign({
  proves: 'gateways that share a database pass no limit, and lose nothing if they, their links or it fail',
  options: { rounds: 0, what: KINDS.join(',') },
  minutes: 7,
  async run(course, { rounds, what }) {
    const kinds = what.split(',');
    const unknown = kinds.filter((kind) => !KINDS.includes(kind) && !Object.hasOwn(DISTURBANCES, kind));
    if (unknown.length > 0) throw new Error(`--what takes ${KINDS.join(', ')}, and not ${unknown.join(', ')}`);
    const parts = drawParts(kinds, rounds, course);
    const run = new Campaign(course, await Cluster.open(course, NODES));
    let done = 0;
    for (const part of parts) {
      if (course.isOver()) break;
      await run.run(part);
      course.progress(++done, parts.length, `rounds (${part.kind})`);
    }
    console.log(run.figures.lines.join('\n'));
    return `${done} rounds`;
  },
});
