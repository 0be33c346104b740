/** Disk problems at length: every fault, on real disks as well, suffered, at the end and at the start of a gateway. */
import { campaign, chosen } from '../support/campaign.ts';
import { FAULTS, LOCKED } from './faults.ts';
import { REAL_FAULTS, REAL_START_FAULTS } from './real-disks.ts';
import { Row } from './rows.ts';
import { refusedStart, suffered, toTheEnd, waited } from './work.ts';

const LONG_LOCK_MS = 10_000;
const SHORT_LOCKS_MS = [50, 1_000];

function allRows(): Row[] {
  const live = [...FAULTS, ...REAL_FAULTS];
  return [
    ...SHORT_LOCKS_MS.map((ms) => new Row(`locked for ${ms} ms`, waited(ms))),
    new Row(`locked for ${LONG_LOCK_MS} ms`, suffered(LOCKED, LONG_LOCK_MS)),
    ...live.map((fault) => new Row(fault.what, suffered(fault))),
    ...live.map((fault) => new Row(`${fault.what}, SIGTERM`, toTheEnd(fault))),
    ...[LOCKED, ...REAL_START_FAULTS].map((fault) => new Row(`${fault.what}, start`, refusedStart(fault))),
  ];
}

export default campaign({
  proves: 'with a disk that fails nothing is forwarded and nothing is lost, and how soon it is noticed',
  amounts: { rounds: 3 },
  options: { only: '' },
  minutes: 4,
  async run(course, { rounds, only }) {
    const rows = chosen(allRows(), only, ({ name }) => name);
    let done = 0;
    for (let round = 0; round < rounds && !course.isOver(); round++) {
      for (const row of course.random.shuffled(rows)) {
        if (course.isOver()) break;
        course.deviate(...(await row.run()));
        course.progress(++done, rounds * rows.length, 'cases');
      }
    }
    console.log('the worst, in milliseconds');
    Row.showHead();
    for (const row of rows) row.show();
    return `${done} of ${rows.length} cases`;
  },
});
