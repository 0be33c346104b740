/**
 * Rounds of composed attacks, each with a key of its own, all of a round at once and with one
 * balance.
 */
import { seedOf } from '../fuzz/campaign.ts';
import { Random } from '../support/random.ts';
import { Composer, type Composition } from './compose.ts';
import { type Attempted, judge, judgeBalance, MEASURES, type Measure } from './oracle.ts';
import { HostileSite, type Outcome, stepNanos } from './site.ts';
import type { Scope } from './workshop.ts';

/**
 * What is judged: each attack by the measures, each round by the balance and by requests that
 * nobody sent.
 */
export type Judged = Measure | 'balance' | 'strangers';

export interface Passed {
  readonly round: number;
  readonly judged: Judged;
  /** Beyond 1. */
  readonly share: number;
  readonly tricks: readonly string[];
  /** What was sent. */
  readonly sent: readonly string[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly attacks: number;
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
  readonly worst: ReadonlyMap<Judged, number>;
  /** How often a limit was passed; `passed` has the details of the first ones. */
  readonly passedCount: number;
  readonly passed: readonly Passed[];
}

/** Attacks of a round. */
const ROUND = 20;
const CONFIGS = [{}, { config: { cap_output: true } }];
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
  return new Campaign(sites, options).run();
}

class Campaign {
  readonly #sites: readonly HostileSite[];
  readonly #options: CampaignOptions;
  readonly #composer: Composer;
  readonly #worst = new Map<Judged, number>([...MEASURES, 'balance' as const].map((judged) => [judged, 0]));
  readonly #passed: Passed[] = [];
  #passedCount = 0;
  readonly #statuses = new Map<number, number>();
  #attacks = 0;
  #requests = 0;
  #served = 0;
  #billedNanos = 0;
  #chargedNanos = 0;

  constructor(sites: readonly HostileSite[], options: CampaignOptions) {
    this.#sites = sites;
    this.#options = options;
    this.#composer = new Composer(new Random(options.seed));
  }

  async run(): Promise<CampaignResult> {
    const { attacks, onlyRound, onProgress } = this.#options;
    const rounds = Math.ceil(attacks / ROUND);
    const isChosen = (round: number) => onlyRound === undefined || round === onlyRound;
    // Sites take turns: while the rounds of one wait, those of another work.
    const onSite = async (site: HostileSite, index: number) => {
      for (let round = index; round < rounds; round += this.#sites.length) {
        if (!isChosen(round)) continue;
        await this.#round(round, site);
        onProgress?.(this.#attacks, this.#passedCount);
      }
    };
    await Promise.all(this.#sites.map(onSite));
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

  async #round(round: number, site: HostileSite): Promise<void> {
    const random = new Random(seedOf(this.#options.seed, round));
    const balanceNanos = random.chance(0.65) ? undefined : random.between(0, MOST_BALANCE_STEPS * stepNanos());
    if (balanceNanos === undefined) site.resetBalance();
    else site.setBalance(balanceNanos);
    const compositions = Array.from({ length: ROUND }, () => this.#composer.compose(random));
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

  #judge(round: number, site: HostileSite, attempted: Attempted): void {
    const bills = attempted.outcomes.flatMap(({ conversation }) => conversation.bills);
    this.#attacks++;
    this.#requests += attempted.outcomes.length;
    for (const { status } of attempted.outcomes) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    this.#served += bills.length;
    this.#billedNanos += bills.reduce((sum, { costNanos }) => sum + costNanos, 0);
    this.#chargedNanos += site.charged(attempted.key);
    const shares = judge(site, attempted);
    for (const measure of MEASURES) this.#note(round, measure, shares[measure], [attempted]);
  }

  #note(round: number, judged: Judged, share: number, attempts: readonly Attempted[]): void {
    this.#worst.set(judged, Math.max(this.#worst.get(judged) ?? 0, share));
    if (share <= 1) return;
    if (++this.#passedCount > MOST_KEPT) return;
    const tricks = [...new Set(attempts.flatMap(({ composition }) => composition.tricks))];
    const sent = attempts.flatMap(({ composition }) =>
      composition.requests.map(
        ({ body, wish, leaves }) => `${leaves} ${JSON.stringify(wish)} ${String(body).slice(0, SHOWN_CHARACTERS)}`,
      ),
    );
    this.#passed.push({ round, judged, share, tricks, sent });
  }
}

async function attempt(site: HostileSite, composition: Composition): Promise<Attempted> {
  const key = site.key(composition.settings);
  const { requests, isRace } = composition;
  if (isRace) return { key, composition, outcomes: await site.race(key, requests) };
  const outcomes: Outcome[] = [];
  for (const request of requests) outcomes.push(await site.send(key, request));
  return { key, composition, outcomes };
}
