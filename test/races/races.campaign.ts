/** The races at length: every limit, variant and size, in rounds. */
import { campaign, chosen, showRow } from '../support/campaign.ts';
import { Contest } from './contest.ts';
import { COMBINATIONS, nameOf } from './plan.ts';
import type { RoundResult } from './round.ts';

export default campaign({
  proves: 'racing requests pass no limit',
  amounts: { rounds: 1_500 },
  options: { only: '' },
  minutes: 5,
  async run(course, { rounds, only }) {
    const results = new Map(chosen(COMBINATIONS, only, nameOf).map((each) => [each, [] as RoundResult[]]));
    const contest = new Contest();
    course.after(() => contest.stop());
    let done = 0;
    while (done < rounds && !course.isOver()) {
      for (const combination of course.random.shuffled([...results.keys()]).slice(0, rounds - done)) {
        if (course.isOver()) break;
        const result = await contest.run(combination, course.random.between(0, 2 ** 31));
        results.get(combination)?.push(result);
        course.deviate(...result.deviations);
        course.progress(++done, rounds, 'rounds');
      }
    }
    const sum = (all: readonly RoundResult[], read: (result: RoundResult) => number) =>
      all.reduce((total, each) => total + read(each), 0);
    showRow('limit, variant, size', ['rounds', 'attempts', 'admitted', 'deviations']);
    for (const [combination, all] of results) {
      const figures = [sum(all, (r) => r.attempts), sum(all, (r) => r.admitted), sum(all, (r) => r.deviations.length)];
      if (all.length > 0) showRow(nameOf(combination), [all.length, ...figures]);
    }
    return `${done} rounds, ${sum([...results.values()].flat(), (r) => r.attempts)} attempts`;
  },
});
