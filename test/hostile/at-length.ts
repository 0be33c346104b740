/** Composed attacks at length, and how far they came. */
import { type Course, show } from '../support/campaign.ts';
import type { CampaignOptions, CampaignResult } from './campaign.ts';
import { NANOS_PER_USD } from './truthful-site.ts';

/** Each time that a limit is passed says how to see it again: that round `only`. */
export async function composeAttacks(
  course: Course,
  attacks: number,
  only: string,
  campaign: (options: CampaignOptions) => Promise<CampaignResult>,
): Promise<string> {
  const { seed } = course;
  const onlyRound = only === '' ? undefined : Number(only);
  const onProgress = (done: number) => course.progress(done, attacks, 'attacks');
  const result = await campaign({ seed, attacks, onlyRound, isOver: () => course.isOver(), onProgress });
  showResult(result);
  for (const { round, judged, share, tricks, sent } of result.passed) {
    const again = `--seed ${seed} --only ${round}`;
    course.deviate(`${again}: ${judged} ${share.toFixed(2)} of 1, ${tricks.join(', ')}\n  ${sent.join('\n  ')}`);
  }
  if (result.passedCount > result.passed.length) course.deviate(`limits were passed ${result.passedCount} times`);
  return `${result.attacks} attacks, ${result.requests} requests`;
}

function showResult(result: CampaignResult): void {
  const usd = (nanos: number) => (nanos / NANOS_PER_USD).toFixed(2);
  const statuses = [...result.statuses].toSorted(([a], [b]) => a - b);
  show({
    'requests that reached the host': result.served,
    ...Object.fromEntries(statuses.map(([status, count]) => [`  with status ${status || 'none'}`, count])),
    'billed by the host, USD': usd(result.billedNanos),
    'charged, USD': usd(result.chargedNanos),
    ...Object.fromEntries([...result.worst].map(([judged, share]) => [`worst of 1: ${judged}`, share.toFixed(3)])),
  });
}
