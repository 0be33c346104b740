/** Attacks at length: those of the table, whose figures it can record for docs/attacks.md, and composed ones. */
import { writeFileSync } from 'node:fs';
import { type Course, campaign } from '../support/campaign.ts';
import { composeAttacks } from './at-length.ts';
import { runCampaign } from './campaign.ts';
import { FAMILIES, FIGURES_FILE, type Figures } from './table.ts';
import { Workshop } from './workshop.ts';

/** Every attack of the table, one after another. */
async function runTable(course: Course, record: boolean): Promise<void> {
  const workshop = new Workshop(course, true);
  const figures: Record<string, number> = {};
  for (const { title, attacks } of FAMILIES) {
    console.log(`\n${title}`);
    for (const attack of attacks) {
      const { claim, most, unit } = attack;
      const figure = await attack.run(workshop);
      figures[claim] = Number(figure.toFixed(3));
      if (figure > most) course.deviate(`passed with ${figure}: ${claim}`);
      console.log(`${figure.toFixed(3).padStart(10)} of ${most} ${unit}: ${claim}`);
    }
  }
  if (record) writeFileSync(FIGURES_FILE, `${JSON.stringify(figures satisfies Figures, undefined, 2)}\n`);
}

export default campaign({
  proves: 'attackers pass no limit, read no secret and block nobody',
  amounts: { attacks: 20_000 },
  options: { only: '', what: '', record: false },
  minutes: 5,
  async run(course, { attacks, only, what, record }) {
    if (what !== 'composed' && only === '') await runTable(course, record);
    if (what === 'table') return 'the table';
    return composeAttacks(course, attacks, only, (options) => runCampaign(course, options));
  },
});
