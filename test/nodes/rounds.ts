/** Rounds of a campaign: requests run on all gateways, something happens to them, and then everything must agree. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { TestKey } from '../support/state.ts';
import type { Cluster } from './cluster.ts';
import { DISTURBANCES, type DisturbanceName } from './disturbances.ts';
import type { Figures } from './figures.ts';
import { Load, type Pace, type Sent } from './load.ts';
import { Host, KEY_LIMITS, KEY_NAMES, type KeyName } from './plan.ts';
import { judge } from './verdicts.ts';

/** How long requests run before and after the disturbance. */
const LEAD_MS = 700;
const TAIL_MS = 500;

export class Rounds {
  readonly #cluster: Cluster;
  readonly #figures: Figures;
  readonly #pace: Pace;
  #nextMarker: number;

  /** Requests cost the more the higher their markers are, which count from `firstMarker`. */
  constructor(cluster: Cluster, figures: Figures, pace: Pace, firstMarker = 1) {
    this.#nextMarker = firstMarker;
    this.#pace = pace;
    this.#cluster = cluster;
    this.#figures = figures;
  }

  async run(name: DisturbanceName, random: Random): Promise<void> {
    const cluster = this.#cluster;
    const figures = this.#figures;
    const made = await cluster.newKeys(KEY_NAMES.map((key) => KEY_LIMITS[key]));
    const keys = Object.fromEntries(KEY_NAMES.map((key, index) => [key, made[index]])) as Record<KeyName, TestKey>;
    const load = new Load(cluster.nodes, keys, this.#pace, random, this.#nextMarker);
    const host = new Host(load.plans);
    cluster.upstream.follow((call) => host.receive(call));
    const undead = new Set<string>();
    await pause(random.between(1, LEAD_MS));
    try {
      await DISTURBANCES[name]({ cluster, random, figures, undead });
      await pause(TAIL_MS);
    } finally {
      await load.stop();
      this.#nextMarker = load.nextMarker;
    }
    await cluster.settled();
    const verdicts = judge({ sent: load.sent, rows: await cluster.rows(made), seen: host.seen, keys, undead });
    const faults = [...verdicts.deviations, ...(await cluster.faults())];
    figures.deviations.push(...faults.map((text) => `${name}: ${text}`));
    figures.count(`rounds: ${name}`);
    figures.count('requests', load.sent.length);
    figures.count('settlements that their clients saw', load.sent.filter(isSettled).length);
    figures.count('settlements lost', verdicts.lost);
    figures.count('settlements counted twice', verdicts.countedTwice);
    figures.count('requests charged as held', verdicts.held);
    figures.count('requests refused for want of money', load.sent.filter(isTooDear).length);
    this.#timeRefusals(name, load.sent);
  }

  #timeRefusals(name: DisturbanceName, sent: readonly Sent[]): void {
    const isSilent = name === 'silence' || name === 'hold' || name === 'stop';
    const refused = sent.filter(({ end }) => end.kind === 'answered' && end.status === 500);
    this.#figures.count('requests refused with 500', refused.length);
    // A gateway that is stopped answers nobody.
    if (name === 'stop' || refused.length === 0) return;
    const longestMs = Math.max(...refused.map(({ sentAtMs, endedAtMs }) => endedAtMs - sentAtMs));
    this.#figures.time(isSilent ? 'refused on a silent link' : 'refused while the database is gone', longestMs);
  }
}

function isSettled({ end }: Sent): boolean {
  return end.kind === 'answered' && end.status === 200;
}

function isTooDear({ end }: Sent): boolean {
  return end.kind === 'answered' && end.status === 402;
}
