/**
 * Rounds of composed attacks, each with a key of its own, all of a round at once and with one
 * balance.
 */
import { seedOf } from '../fuzz/campaign.ts';
import type { TestKey } from '../support/gateway.ts';
import { Random } from '../support/random.ts';
import type { Scope } from '../support/run-scope.ts';
import type { KeySettings } from '../support/state.ts';
import { Composer, type Composition } from './compose.ts';
import { type Attempted, judge, judgeBalance, MEASURES } from './oracle.ts';
import { HostileSite, type Request, stepNanos } from './site.ts';
import type { Outcome } from './truthful-site.ts';

/** A gateway before a host that bills. */
export interface CampaignSite<Sent> {
  readonly host: { readonly strangers: number };
  key(settings?: KeySettings): TestKey;
  send(key: TestKey, request: Sent): Promise<Outcome>;
  race(key: TestKey, requests: readonly Sent[]): Promise<Outcome[]>;
  settled(keys: readonly TestKey[], outcomes: readonly Outcome[]): Promise<void>;
  charged(key: TestKey): number;
  setBalance(nanos: number): void;
  resetBalance(): void;
}

/** What is sent, and how it is judged. */
export interface Plan<Sent, Site extends CampaignSite<Sent>> {
  readonly sites: readonly Site[];
  compose(random: Random): Composition<Sent>;
  readonly measures: readonly string[];
  /** The share of what it may have, of each measure: above 1 an attack has passed. */
  judge(site: Site, attempted: Attempted<Sent>): Readonly<Record<string, number>>;
  /** What was sent, for people who look for the cause. */
  shown(request: Sent): string;
}

export interface Passed {
  readonly round: number;
  /** A measure of single attacks, or of a round: its balance, or requests that nobody sent. */
  readonly judged: string;
  /** Beyond 1. */
  readonly share: number;
  readonly tricks: readonly string[];
  /** What was sent. */
  readonly sent: readonly string[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly attacks: number;
  /** Ends it before that, after the rounds that have begun. */
  isOver?(): boolean;
  /** Runs this round alone. */
  readonly onlyRound?: number | undefined;
  onProgress?(attacks: number, passed: number): void;
}

export interface CampaignResult {
  readonly attacks: number;
  readonly requests: number;
  /** Requests that reached the host. */
  readonly served: number;
  /** How many requests had each status; 0 for those whose client left before it. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly billedNanos: number;
  readonly chargedNanos: number;
  /** The largest share of what an attack may have, by what it was judged by. */
  readonly worst: ReadonlyMap<string, number>;
  /** How often a limit was passed; `passed` has the details of the first ones. */
  readonly passedCount: number;
  readonly passed: readonly Passed[];
}

/** Attacks of a round. */
const ROUND = 20;
/** What the sites of a campaign are configured with. */
export const CONFIGS = [{}, { config: { cap_output: true } }];
/** The largest balance of a round with a tight one, in steps. */
const MOST_BALANCE_STEPS = 200;
/** Attacks that passed and are kept in detail. */
const MOST_KEPT = 50;
const SHOWN_CHARACTERS = 300;

/** Opens the sites of a campaign and runs it. */
export async function runCampaign(scope: Scope, options: CampaignOptions): Promise<CampaignResult> {
  const sites: HostileSite[] = [];
  for (const config of CONFIGS) {
    const site = await HostileSite.open(config);
    scope.after(() => site.stop());
    sites.push(site);
  }
  const composer = new Composer(new Random(options.seed));
  const compose = (random: Random) => composer.compose(random);
  return new Campaign({ sites, compose, measures: MEASURES, judge, shown }, options).run();
}

function shown({ body, wish, leaves }: Request): string {
  return `${leaves} ${JSON.stringify(wish)} ${String(body)}`;
}

export class Campaign<Sent, Site extends CampaignSite<Sent>> {
  readonly #plan: Plan<Sent, Site>;
  readonly #options: CampaignOptions;
  readonly #worst: Map<string, number>;
  readonly #passed: Passed[] = [];
  #passedCount = 0;
  readonly #statuses = new Map<number, number>();
  #attacks = 0;
  #requests = 0;
  #served = 0;
  #billedNanos = 0;
  #chargedNanos = 0;

  constructor(plan: Plan<Sent, Site>, options: CampaignOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#worst = new Map([...plan.measures, 'balance'].map((judged) => [judged, 0]));
  }

  async run(): Promise<CampaignResult> {
    const { attacks, onlyRound, onProgress, isOver = () => false } = this.#options;
    const { sites } = this.#plan;
    const rounds = onlyRound === undefined ? Math.ceil(attacks / ROUND) : onlyRound + 1;
    const isChosen = (round: number) => onlyRound === undefined || round === onlyRound;
    // Sites take turns: while the rounds of one wait, those of another work.
    const onSite = async (site: Site, index: number) => {
      for (let round = index; round < rounds && !isOver(); round += sites.length) {
        if (!isChosen(round)) continue;
        await this.#round(round, site);
        onProgress?.(this.#attacks, this.#passedCount);
      }
    };
    await Promise.all(sites.map(onSite));
    return {
      attacks: this.#attacks,
      requests: this.#requests,
      served: this.#served,
      statuses: this.#statuses,
      billedNanos: this.#billedNanos,
      chargedNanos: this.#chargedNanos,
      worst: this.#worst,
      passedCount: this.#passedCount,
      passed: this.#passed,
    };
  }

  async #round(round: number, site: Site): Promise<void> {
    const random = new Random(seedOf(this.#options.seed, round));
    const balanceNanos = random.chance(0.65) ? undefined : random.between(0, MOST_BALANCE_STEPS * stepNanos());
    if (balanceNanos === undefined) site.resetBalance();
    else site.setBalance(balanceNanos);
    const compositions = Array.from({ length: ROUND }, () => this.#plan.compose(random));
    const attempts = await Promise.all(compositions.map((composition) => attempt(site, composition)));
    const outcomes = attempts.flatMap((each) => each.outcomes);
    await site.settled(
      attempts.map(({ key }) => key),
      outcomes,
    );
    for (const each of attempts) this.#judge(round, site, each);
    if (balanceNanos !== undefined) this.#note(round, 'balance', judgeBalance(balanceNanos, attempts), attempts);
    if (site.host.strangers > 0) this.#note(round, 'strangers', 1 + site.host.strangers, attempts);
  }

  #judge(round: number, site: Site, attempted: Attempted<Sent>): void {
    const bills = attempted.outcomes.flatMap(({ conversation }) => conversation.bills);
    this.#attacks++;
    this.#requests += attempted.outcomes.length;
    for (const { status } of attempted.outcomes) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    this.#served += bills.length;
    this.#billedNanos += bills.reduce((sum, { costNanos }) => sum + costNanos, 0);
    this.#chargedNanos += site.charged(attempted.key);
    for (const [measure, share] of Object.entries(this.#plan.judge(site, attempted))) {
      this.#note(round, measure, share, [attempted]);
    }
  }

  #note(round: number, judged: string, share: number, attempts: readonly Attempted<Sent>[]): void {
    this.#worst.set(judged, Math.max(this.#worst.get(judged) ?? 0, share));
    if (share <= 1) return;
    if (++this.#passedCount > MOST_KEPT) return;
    const tricks = [...new Set(attempts.flatMap(({ composition }) => composition.tricks))];
    const sent = attempts.flatMap(({ composition }) =>
      composition.requests.map((request) => this.#plan.shown(request).slice(0, SHOWN_CHARACTERS)),
    );
    this.#passed.push({ round, judged, share, tricks, sent });
  }
}

async function attempt<Sent>(site: CampaignSite<Sent>, composition: Composition<Sent>): Promise<Attempted<Sent>> {
  const key = site.key(composition.settings);
  const { requests, isRace } = composition;
  if (isRace) return { key, composition, outcomes: await site.race(key, requests) };
  const outcomes: Outcome[] = [];
  for (const request of requests) outcomes.push(await site.send(key, request));
  return { key, composition, outcomes };
}
