/**
 * The failure matrix, long form, with its times: `npm run test:faults [-- --rounds N] [--seed N]
 * [--only TEXT]`. Exits with status 1 if anything deviates.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { auditElsewhere } from '../support/auditor.ts';
import { inParallel } from '../support/cli.ts';
import { Random } from '../support/random.ts';
import { RunScope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';
import type { End } from './cell.ts';
import { type Place, SHORT_MS, Site } from './site.ts';
import { type Cell, cellsFor, nameOf } from './table.ts';
import { play } from './trial.ts';

const MOST_SHOWN = 20;
/** Few enough that none delays another. */
const AT_ONCE = 6;
/** How long a cell may take beyond its timeout. */
const GRACE_MS = 500;
/**
 * A compressed response of 1 GB would exceed it by far; a few responses of 10 MB at once do not.
 */
const MOST_GROWTH_KB = 256 * 1024;
/** The connections of the run itself, which it keeps open between its queries. */
const OWN_CONNECTIONS = AT_ONCE + 1;

/** When a cell has to be over. Slow responses have no limit. */
const LIMITS_MS: Readonly<Record<End, number>> = {
  'at once': GRACE_MS,
  connect: SHORT_MS + GRACE_MS,
  first_byte: SHORT_MS + GRACE_MS,
  idle: SHORT_MS + GRACE_MS,
  'after its answer': Number.POSITIVE_INFINITY,
};

function endOf({ leaving, case: { stays } }: Cell): End {
  return leaving === 'stays' ? stays.ends : 'at once';
}

/** The current and the peak memory of a process, as Linux reports them. */
function usedBy(pid: number): { nowKb: number; mostKb: number; sockets: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return { nowKb: figure('VmRSS'), mostKb: figure('VmHWM'), sockets: socketsOf(pid) };
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`).startsWith('socket:');
    } catch {
      return false; // Closed meanwhile.
    }
  }).length;
}

class Run {
  readonly deviations: string[] = [];
  readonly #slowest = new Map<End, { cells: number; ms: number }>();
  #grownKb = 0;
  #sockets = 0;

  /** Runs all cells once, in a gateway of their own. */
  async round(cells: readonly Cell[], onDone: () => void): Promise<void> {
    const scope = new RunScope();
    try {
      const site = await Site.open(scope, cells);
      const { pid } = site.serving;
      const before = usedBy(pid);
      const work = (place: Place) => this.#play(site, place).finally(onDone);
      await inParallel(site.places, work, AT_ONCE);
      await this.#aftermath(site);
      await site.closeHosts();
      await until(() => socketsOf(pid) <= before.sockets + OWN_CONNECTIONS);
      const after = usedBy(pid);
      this.#grownKb = Math.max(this.#grownKb, after.mostKb - before.nowKb);
      this.#sockets = Math.max(this.#sockets, after.sockets - before.sockets - OWN_CONNECTIONS);
      if (this.#grownKb > MOST_GROWTH_KB) this.deviations.push(`the process grew by ${this.#grownKb} KB`);
    } catch (error) {
      this.deviations.push(String(error));
    } finally {
      await scope.end();
    }
  }

  async #play(site: Site, place: Place): Promise<void> {
    const end = endOf(place.cell);
    try {
      const ms = await play(site, place);
      const { cells, ms: most } = this.#slowest.get(end) ?? { cells: 0, ms: 0 };
      this.#slowest.set(end, { cells: cells + 1, ms: Math.max(ms, most) });
      if (ms > LIMITS_MS[end]) this.deviations.push(`${nameOf(place.cell)}: over after ${Math.round(ms)} ms`);
    } catch (error) {
      this.deviations.push(`${nameOf(place.cell)}: ${error}`);
    }
  }

  async #aftermath(site: Site): Promise<void> {
    site.assertSettled();
    const checks = await auditElsewhere(site.workplace.statePath);
    this.deviations.push(...checks.flatMap(({ differences }) => differences));
    const faults = site.serving.log.filter(({ level }) => level === 'error' || level === 'fatal');
    this.deviations.push(...faults.map(({ msg }) => `logged: ${msg}`));
  }

  show(): void {
    console.log(`${'ends'.padEnd(20)}${'cells'.padStart(8)}${'slowest, ms'.padStart(14)}${'bound, ms'.padStart(12)}`);
    for (const [end, { cells, ms }] of this.#slowest) {
      const bound = LIMITS_MS[end] === Number.POSITIVE_INFINITY ? '' : String(LIMITS_MS[end]);
      console.log(
        `${end.padEnd(20)}${String(cells).padStart(8)}${String(Math.round(ms)).padStart(14)}${bound.padStart(12)}`,
      );
    }
    console.log(`${'memory: most growth, MB'.padEnd(34)}${String(Math.round(this.#grownKb / 1024)).padStart(8)}`);
    console.log(`${'upstream sockets left'.padEnd(34)}${String(this.#sockets).padStart(8)}`);
    console.log(`${'deviations'.padEnd(34)}${String(this.deviations.length).padStart(8)}`);
  }
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
    },
  });
  console.log(`seed ${values.seed}`);
  const random = new Random(Number(values.seed));
  const all = cellsFor(['stays', 'leaves', 'leaves in the same moment']);
  const cells = all.filter((cell) => nameOf(cell).includes(values.only));
  if (cells.length === 0) throw new Error(`no cell has ${JSON.stringify(values.only)} in its name`);
  const run = new Run();
  let done = 0;
  const onDone = () => {
    done++;
    if (process.stdout.isTTY) process.stdout.write(`\r${done} of ${cells.length * Number(values.rounds)} cells `);
  };
  for (let round = 0; round < Number(values.rounds); round++) await run.round(random.shuffled(cells), onDone);
  if (process.stdout.isTTY) console.log();
  run.show();
  const { deviations } = run;
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  if (deviations.length > MOST_SHOWN) console.error(`and ${deviations.length - MOST_SHOWN} more`);
  return deviations.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
