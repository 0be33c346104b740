/** Random histories of the simulated ledger, by the thousand. */
import { campaign } from '../support/campaign.ts';
import { playHistories } from './histories.ts';

/** So many have a seed of their own. */
const BATCH = 250;

export default campaign({
  proves: 'what clients and operators have seen holds over any end of a process',
  amounts: { histories: 10_000 },
  minutes: 5,
  async run(course, { histories }) {
    let [done, ends] = [0, 0];
    for (let seed = course.seed; done < histories && !course.isOver(); seed++) {
      const figures = await playHistories(Math.min(BATCH, histories - done), seed, true);
      done += figures.histories;
      ends += figures.ends;
      course.progress(done, histories, 'histories');
    }
    return `${done} histories with ${ends} ends of a process`;
  },
});
