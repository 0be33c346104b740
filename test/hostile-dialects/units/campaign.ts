/** Composed attacks on units of price, by images and by sound: they race, leave and lose their host under random limits. */

import { Campaign, type CampaignOptions, type CampaignResult, CONFIGS } from '../../hostile/campaign.ts';
import type { Composition } from '../../hostile/compose.ts';
import { type Attempted, share } from '../../hostile/oracle.ts';
import { billedNanos, ESTIMATE_ERROR } from '../../hostile/site.ts';
import { AMPLE } from '../../hostile/truthful-site.ts';
import type { Random } from '../../support/random.ts';
import type { Scope } from '../../support/run-scope.ts';
import type { KeySettings } from '../../support/state.ts';
import type { Attack } from './attack.ts';
import { ATTACKS, type UnitRequest, UnitSite } from './site.ts';

/** Opens the sites of a campaign and runs it. */
export async function runUnitCampaign(scope: Scope, options: CampaignOptions): Promise<CampaignResult> {
  const sites: UnitSite[] = [];
  for (const config of CONFIGS) {
    const site = await UnitSite.open(config);
    scope.after(() => site.stop());
    sites.push(site);
  }
  const streams = await attacksThatStream();
  const compose = (random: Random) => composeAttack(random, streams);
  const measures = ['charge', 'spend limit'];
  return new Campaign({ sites, compose, measures, judge, shown }, options).run();
}

function shown({ attack: { tries }, leaves, isLost }: UnitRequest): string {
  return `${tries}${leaves ? ', and leaves' : ''}${isLost ? ', and loses its host' : ''}`;
}

function composeAttack(random: Random, streams: ReadonlySet<Attack>): Composition<UnitRequest> {
  const isRace = random.chance(0.6);
  const template = requestOf(random, streams);
  const count = isRace ? random.between(2, 8) : random.between(1, 3);
  const requests = Array.from({ length: count }, () => (random.chance(0.6) ? template : requestOf(random, streams)));
  const most = Math.max(...requests.map(({ attack }) => attack.bill));
  const settings: KeySettings = {
    ...AMPLE,
    ...(random.chance(0.5) && { spendLimitNanos: BigInt(random.between(0, 4 * most)) }),
    ...(random.chance(0.2) && { concurrency: random.between(1, 3) }),
  };
  return { settings, requests, isRace, tricks: requests.map(shown) };
}

/** A host stops a stream that its client has left, and no longer bills all of it. */
const STREAMS = /"stream":true|streamGenerateContent/;

async function attacksThatStream(): Promise<ReadonlySet<Attack>> {
  const streams = new Set<Attack>();
  for (const attack of ATTACKS) {
    const { body = '' } = await attack.send();
    if (STREAMS.test(attack.path) || STREAMS.test(body.toString('latin1'))) streams.add(attack);
  }
  return streams;
}

function requestOf(random: Random, streams: ReadonlySet<Attack>): UnitRequest {
  const attack = random.pick(ATTACKS);
  const leaves = !streams.has(attack) && random.chance(0.2);
  return { attack, leaves, isLost: !leaves && random.chance(0.1) };
}

/** Without a report the charge is as held, which goes by the estimate of the input. */
function judge(
  site: UnitSite,
  { key, composition, outcomes }: Attempted<UnitRequest>,
): Readonly<Record<string, number>> {
  const { settings, requests } = composition;
  const billed = billedNanos(outcomes);
  const error = requests.some(({ isLost }) => isLost) ? ESTIMATE_ERROR : 1;
  const last = Math.max(...requests.map(({ attack }) => attack.bill));
  const limit = settings.spendLimitNanos;
  return {
    charge: share(billed, site.charged(key) * error),
    'spend limit': limit == null ? 0 : share(billed, (Number(limit) + last) * error),
  };
}
