/** Fuzzing by the hundred thousand. */
import { campaign, chosen, show } from '../support/campaign.ts';
import { aftermathOf } from './aftermath.ts';
import { AnswerCampaign } from './answer-campaign.ts';
import { runCampaign } from './campaign.ts';
import { RequestCampaign } from './request-campaign.ts';
import { ServerCampaign } from './server-campaign.ts';
import { openFuzzSite } from './site.ts';

export default campaign({
  proves: 'mutated requests and answers cause no internal error and no leak, and the ledger stays correct',
  amounts: { count: 100_000 },
  options: { what: '', only: '' },
  minutes: 5,
  async run(course, { count, what, only }) {
    const { seed } = course;
    const fuzz = await openFuzzSite(course);
    const answers = new AnswerCampaign(fuzz, seed);
    const all = [new RequestCampaign(fuzz, seed), answers, new ServerCampaign(seed)];
    const parts = chosen(all, what, ({ name }) => name);
    let total = 0;
    for (const [index, each] of parts.entries()) {
      const { cases, statuses, seconds, deviations } = await runCampaign(each, {
        seed,
        count,
        only: only === '' ? undefined : Number(only),
        isOver: () => course.isOver((index + 1) / parts.length),
        onProgress: (done) => course.progress(done, count, each.name),
      });
      total += cases;
      course.deviate(...deviations);
      show({ [`mutated ${each.name}`]: cases, 'took, s': seconds });
      const counts = [...statuses].toSorted(([a], [b]) => a - b);
      show(Object.fromEntries(counts.map(([status, responses]) => [`  responses with status ${status}`, responses])));
    }
    const { deviations, journalRows, openHolds, descriptors } = await aftermathOf(fuzz);
    course.deviate(...deviations);
    show({
      '502 without reaching the host': answers.unasked,
      'journal rows': journalRows,
      'open holds at the end': openHolds,
      'more descriptors than at the start': descriptors,
    });
    return `${total} mutations`;
  },
});
