/** Composed attacks on units of price at length. */
import { composeAttacks } from '../hostile/at-length.ts';
import { campaign } from '../support/campaign.ts';
import { runUnitCampaign } from './units/campaign.ts';

export default campaign({
  proves:
    'nobody pays less than the host bills for units, images and sound, in races, when clients leave and when hosts are lost',
  amounts: { attacks: 20_000 },
  options: { only: '' },
  minutes: 3,
  run: (course, { attacks, only }) =>
    composeAttacks(course, attacks, only, (options) => runUnitCampaign(course, options)),
});
