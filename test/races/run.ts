/**
 * The races, the long run: `npm run test:races [-- --rounds N] [--seed N] [--only TEXT]`. Exits
 * with 1 if any round deviates.
 */
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { Contest } from './contest.ts';
import { COMBINATIONS, nameOf } from './plan.ts';
import type { RoundResult } from './round.ts';

const MOST_SHOWN = 10;

class Tally {
  readonly name: string;
  rounds = 0;
  attempts = 0;
  admitted = 0;
  /** The number of rounds with at least one deviation. */
  deviations = 0;

  constructor(name: string) {
    this.name = name;
  }

  add({ attempts, admitted, deviations }: RoundResult): void {
    this.rounds++;
    this.attempts += attempts;
    this.admitted += admitted;
    if (deviations.length > 0) this.deviations++;
  }

  get line(): string {
    const figures = [this.rounds, this.attempts, this.admitted, this.deviations];
    return lineOf(
      this.name,
      figures.map((figure) => figure.toLocaleString('en')),
    );
  }
}

const HEAD = lineOf('limit, variant, size', ['rounds', 'attempts', 'admitted', 'deviations']);

function lineOf(name: string, cells: readonly string[]): string {
  return name.padEnd(32) + cells.map((cell) => cell.padStart(12)).join('');
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '1500' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
    },
  });
  const combinations = COMBINATIONS.filter((combination) => nameOf(combination).includes(values.only));
  if (combinations.length === 0) throw new Error(`no combination has ${JSON.stringify(values.only)} in its name`);
  console.log(`seed ${values.seed}`);
  const tallies = new Map(combinations.map((combination) => [combination, new Tally(nameOf(combination))]));
  const total = new Tally('all');
  const startedAtMs = performance.now();
  const random = new Random(Number(values.seed));
  const contest = new Contest();
  while (total.rounds < Number(values.rounds)) {
    for (const combination of random.shuffled(combinations).slice(0, Number(values.rounds) - total.rounds)) {
      const result = await contest.run(combination, random.between(0, 2 ** 31));
      tallies.get(combination)?.add(result);
      total.add(result);
      showProgress(total, Number(values.rounds), result);
    }
  }
  await contest.stop();
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.log(`\n${HEAD}`);
  for (const tally of [...tallies.values(), total]) console.log(tally.line);
  console.log(`in ${seconds.toFixed(0)} s`);
  console.log(`${total.rounds} rounds, ${total.deviations} deviations`);
  return total.deviations === 0;
}

function showProgress({ rounds, deviations }: Tally, of: number, result: RoundResult): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${rounds} of ${of} rounds, ${deviations} deviations `);
  if (result.deviations.length === 0) return;
  console.error('');
  for (const text of result.deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  if (result.deviations.length > MOST_SHOWN) console.error(`and ${result.deviations.length - MOST_SHOWN} more`);
}

process.exitCode = (await main()) ? 0 : 1;
