/** Composed attacks in every dialect and through every translation, judged by the bounds of the table. */
import { Campaign, type CampaignOptions, type CampaignResult, CONFIGS } from '../hostile/campaign.ts';
import { type Attempted, judge, MEASURES, share, stepOf } from '../hostile/oracle.ts';
import { billedNanos, billsOf, COUNT_ERROR, DEFAULT_OUTPUT, ESTIMATE_ERROR } from '../hostile/site.ts';
import { Random } from '../support/random.ts';
import type { Scope } from '../support/run-scope.ts';
import { DialectComposer } from './compose.ts';
import type { Request } from './requests.ts';
import { DialectSite } from './site.ts';

/** Opens the sites of a campaign and runs it. */
export async function runDialectCampaign(scope: Scope, options: CampaignOptions): Promise<CampaignResult> {
  const sites: DialectSite[] = [];
  for (const config of CONFIGS) {
    const site = await DialectSite.open(config);
    site.watchHolds();
    scope.after(() => site.stop());
    sites.push(site);
  }
  const composer = new DialectComposer(new Random(options.seed));
  const compose = (random: Random) => composer.compose(random);
  const measures = [...MEASURES, 'hold'];
  return new Campaign({ sites, compose, measures, judge: judgeDialects, shown }, options).run();
}

function shown({ client, body, conduct, leaves }: Request): string {
  return `${client}, ${leaves} ${JSON.stringify(conduct)} ${JSON.stringify(body)}`;
}

function judgeDialects(site: DialectSite, attempted: Attempted<Request>): Readonly<Record<string, number>> {
  return { ...judge(site, attempted), charge: chargeOf(site, attempted), hold: holdOf(site, attempted) };
}

/** What is reported is charged exactly. Of what is counted, a stream may have written one event more. */
function chargeOf(site: DialectSite, { key, outcomes }: Attempted<Request>): number {
  const rows = site.gateway.rows(key);
  const counted = rows.filter(({ source }) => source !== 'reported');
  const charged = rows.reduce((sum, { cost_nanos }) => sum + cost_nanos, 0);
  const error = counted.reduce((sum, { cost_nanos }) => sum + cost_nanos * (COUNT_ERROR - 1), 0);
  const steps = billsOf(outcomes)
    .filter(({ isStream }) => isStream)
    .map(stepOf)
    .toSorted((a, b) => b - a);
  const unseen = steps.slice(0, counted.length).reduce((sum, step) => sum + step, 0);
  return share(billedNanos(outcomes), charged + error + unseen);
}

/** What a request alone costs is held when it arrives, but for a stream whose hold may grow. */
function holdOf(site: DialectSite, { composition, outcomes }: Attempted<Request>): number {
  const [outcome, ...others] = outcomes;
  const [bill] = outcome === undefined ? [] : billsOf([outcome]);
  if (outcome === undefined || bill === undefined || others.length > 0) return 0;
  const isWhole = bill.declaredOutput !== undefined || bill.isHeldWhole || bill.outputTokens <= DEFAULT_OUTPUT;
  if (!isWhole || composition.tricks.includes('growing')) return 0;
  return share(bill.costNanos, (site.heldAtArrival.get(outcome.conversation) ?? 0) * ESTIMATE_ERROR);
}
