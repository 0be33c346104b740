/**
 * Kills a gateway under load again and again, on one state file, and reconciles what each kill
 * left.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type NewKeyJson, type Serving, Workplace } from '../support/cli.ts';
import type { Random } from '../support/random.ts';
import type { Scope } from '../support/run-scope.ts';
import { Books } from './books.ts';
import { Host } from './host.ts';
import { Load } from './load.ts';
import { PATIENT_SERVE } from './patient-serve.ts';
import { configFor, drawPlan, KEY_OPTIONS, type KeyName, type Plan } from './plan.ts';
import { auditDifferences, readState } from './state-file.ts';
import { TopUps } from './top-ups.ts';

/** How long a gateway may run under load, and how long one that is killed during its start. */
const LIFE_MS = 300;
const YOUTH_MS = 250;
/** One in this many cycles runs a gateway of two threads. */
const CYCLES_TO_TWO_THREADS = 3;
const KEYS = Object.keys(KEY_OPTIONS) as KeyName[];

/** A workplace whose config has the host, with credit and one key of each kind. */
export interface Site {
  readonly place: Workplace;
  readonly host: Host;
  readonly plans: Map<number, Plan>;
  readonly secrets: Readonly<Record<KeyName, string>>;
  readonly keyIds: Readonly<Record<KeyName, string>>;
}

export async function openSite(scope: Scope): Promise<Site> {
  const place = new Workplace(scope, null);
  const plans = new Map<number, Plan>();
  const host = await Host.start(join(place.directory, 'seen.txt'), (marker) => plans.get(marker) as Plan);
  scope.after(() => host.close());
  place.write('config.yaml', configFor(host.port));
  const results = await place.runAll([
    ['credit', 'add', '1000000'],
    ...KEYS.map((name) => ['keys', 'create', name, ...KEY_OPTIONS[name], '--json']),
    ['keys', 'disable', 'off'],
  ]);
  const keys = KEYS.map((name, index) => [name, JSON.parse(results[index + 1]?.stdout ?? '') as NewKeyJson] as const);
  const fromKeys = (value: (key: NewKeyJson) => string) =>
    Object.fromEntries(keys.map(([name, key]) => [name, value(key)])) as Record<KeyName, string>;
  return { place, host, plans, secrets: fromKeys(({ key }) => key), keyIds: fromKeys(({ id }) => id) };
}

export class Cycles {
  readonly books: Books;
  cycles = 0;
  cleanAudits = 0;
  slowestStartMs = 0;
  /** The number of cycles in which the killed gateway had two threads. */
  cyclesOfTwoThreads = 0;
  readonly #site: Site;
  readonly #random: Random;
  readonly #topUps: TopUps;
  #serving: Serving | undefined;
  #marker = 0;
  /** The threads of the gateway that is to be killed. */
  #threads = 1;

  constructor(site: Site, random: Random, scope: Scope) {
    this.#site = site;
    this.#random = random;
    this.#topUps = new TopUps(site.place);
    this.books = new Books(site.keyIds);
    scope.after(() => this.#topUps.kill());
  }

  /** The number of requests that the host received. */
  get seen(): number {
    return this.#site.host.seen().size;
  }

  get topUps(): number {
    return this.#topUps.returned.length;
  }

  /** One cycle: load, kill, start, reconciliation. */
  async run(): Promise<void> {
    const { place, host, plans } = this.#site;
    host.forget();
    plans.clear();
    const { sent } = await this.#liveAndDie(this.#serving ?? (await this.#start()));
    if (this.#threads > 1) this.cyclesOfTwoThreads++;
    this.#audit('after the kill');
    const killed = readState(place.statePath, this.books.position);
    this.#configure();
    if (this.#random.chance(0.15)) await this.#dieYoung();
    this.#serving = await this.#start();
    const looks = [await this.#look('app'), await this.#look('small')];
    const returned = [...this.#topUps.returned];
    const restarted = readState(place.statePath, this.books.position);
    this.books.check({ sent, killed, restarted, seen: host.seen(), returned });
    for (const look of looks) this.books.checkWindow(look);
    this.#audit('after the restart');
    this.cycles++;
  }

  /** The reconciliation of the whole run. The gateway is stopped for it. */
  async finish(): Promise<void> {
    await this.#topUps.kill();
    const status = await this.#serving?.stop();
    if (status !== 0) this.books.deviations.push(`the gateway ended with status ${status}`);
    this.books.close(this.#site.place.statePath, this.#site.host.seen());
    this.#audit('at the end');
  }

  async #liveAndDie(serving: Serving): Promise<Load> {
    this.#topUps.start();
    let ordinal = 0;
    const load = new Load(serving, this.#site.secrets, () => this.#draw(ordinal++));
    const command = this.cycles % 5 === 0 ? this.#topUps.byCommand() : undefined;
    await pause(this.#random.between(1, LIFE_MS));
    load.stop();
    serving.signal('SIGKILL');
    // Usually nobody else reads the file then, so the next gateway must recover it by itself.
    if (this.#random.chance(0.7)) await this.#topUps.kill();
    await Promise.all([serving.ended, load.ended, command]);
    return load;
  }

  #draw(ordinal: number): Plan {
    const plan = drawPlan(++this.#marker, ordinal, this.#random);
    this.#site.plans.set(plan.marker, plan);
    return plan;
  }

  /** Writes the config of the next gateway. */
  #configure(): void {
    this.#threads = this.cycles % CYCLES_TO_TWO_THREADS === 0 ? 2 : 1;
    this.#site.place.write('config.yaml', configFor(this.#site.host.port, this.#threads));
  }

  async #start(): Promise<Serving> {
    const startedAtMs = performance.now();
    const serving = await this.#site.place.serve(PATIENT_SERVE);
    this.slowestStartMs = Math.max(this.slowestStartMs, performance.now() - startedAtMs);
    return serving;
  }

  /**
   * A gateway that is killed during its start, possibly while it settles what the last one left
   * open.
   */
  async #dieYoung(): Promise<void> {
    const serving = this.#site.place.launch(PATIENT_SERVE);
    await pause(this.#random.between(1, YOUTH_MS));
    serving.signal('SIGKILL');
    await serving.ended;
  }

  /** A refused request takes nothing, and its answer shows the window. */
  async #look(key: KeyName) {
    const sentAtWallMs = Date.now();
    const response = await (this.#serving as Serving).chat(this.#site.secrets[key], { model: 'host/none' });
    await response.text();
    const remaining = Number(response.headers.get('x-ratelimit-remaining-requests'));
    return { key, sentAtWallMs, answeredAtMs: performance.now(), remaining };
  }

  #audit(when: string): void {
    const problems = auditDifferences(this.#site.place.statePath);
    if (problems.length === 0) this.cleanAudits++;
    this.books.deviations.push(...problems.map((problem) => `audit ${when} of cycle ${this.cycles + 1}: ${problem}`));
  }
}
