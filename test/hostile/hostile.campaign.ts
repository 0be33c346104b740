/** Attacks at length: every one of the table, and composed ones. */
import { type Course, campaign } from '../support/campaign.ts';
import { composeAttacks } from './at-length.ts';
import { runCampaign } from './campaign.ts';
import { FAMILIES } from './table.ts';
import { Workshop } from './workshop.ts';

/** Runs every attack of the table, one after another. */
async function runTable(course: Course): Promise<void> {
  const workshop = new Workshop(course, true);
  for (const { title, about, attacks } of FAMILIES) {
    console.log(`\n${title}: ${about}`);
    for (const attack of attacks) {
      const { claim, most, passes, tries, unit } = attack;
      const figure = await attack.run(workshop);
      if (figure > most) course.deviate(`passed with ${figure}: ${claim}`);
      console.log(`${figure.toFixed(3).padStart(10)} of ${most} ${unit}: ${claim} (to pass the ${passes}: ${tries})`);
    }
  }
}

export default campaign({
  proves: 'attackers pass no limit, read no secret and block nobody',
  amounts: { attacks: 20_000 },
  options: { only: '', what: '' },
  minutes: 5,
  async run(course, { attacks, only, what }) {
    if (what !== 'composed' && only === '') await runTable(course);
    if (what === 'table') return 'the table';
    return composeAttacks(course, attacks, only, (options) => runCampaign(course, options));
  },
});
