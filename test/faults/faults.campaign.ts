/** The failure matrix at length, with its times, sockets and memory. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { auditElsewhere } from '../support/auditor.ts';
import { type Course, campaign, chosen, show, showRow } from '../support/campaign.ts';
import { inParallel } from '../support/cli.ts';
import { RunScope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';
import type { End } from './cell.ts';
import { type Place, SHORT_MS, Site } from './site.ts';
import { type Cell, cellsFor, nameOf } from './table.ts';
import { play } from './trial.ts';

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
  readonly #course: Course;
  readonly #slowest = new Map<End, { cells: number; ms: number }>();
  #grownKb = 0;
  #sockets = 0;

  constructor(course: Course) {
    this.#course = course;
  }

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
      if (this.#grownKb > MOST_GROWTH_KB) this.#course.deviate(`the process grew by ${this.#grownKb} KB`);
    } catch (error) {
      this.#course.deviate(String(error));
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
      if (ms > LIMITS_MS[end]) this.#course.deviate(`${nameOf(place.cell)}: over after ${Math.round(ms)} ms`);
    } catch (error) {
      this.#course.deviate(`${nameOf(place.cell)}: ${error}`);
    }
  }

  async #aftermath(site: Site): Promise<void> {
    site.assertSettled();
    const checks = await auditElsewhere(site.workplace.statePath);
    this.#course.deviate(...checks.flatMap(({ differences }) => differences));
    const faults = site.serving.log.filter(({ level }) => level === 'error' || level === 'fatal');
    this.#course.deviate(...faults.map(({ msg }) => `logged: ${msg}`));
  }

  show(): void {
    showRow('ends', ['cells', 'slowest, ms', 'bound, ms']);
    for (const [end, { cells, ms }] of this.#slowest) {
      showRow(end, [cells, ms, Number.isFinite(LIMITS_MS[end]) ? LIMITS_MS[end] : '']);
    }
    show({ 'memory: most growth, MB': this.#grownKb / 1024, 'upstream sockets left': this.#sockets });
  }
}

export default campaign({
  proves: 'whatever a provider does wrong, client, ledger and connections are as its table says, and in time',
  amounts: { rounds: 3 },
  options: { only: '' },
  minutes: 4,
  async run(course, { rounds, only }) {
    const cells = chosen(cellsFor(['stays', 'leaves', 'leaves in the same moment']), only, nameOf);
    const run = new Run(course);
    let done = 0;
    const onDone = () => course.progress(++done, cells.length * rounds, 'cells');
    for (let round = 0; round < rounds && !course.isOver(); round++)
      await run.round(course.random.shuffled(cells), onDone);
    run.show();
    return `${done} cells`;
  },
});
