/** Composed attacks in the dialects at length. */
import { composeAttacks } from '../hostile/at-length.ts';
import { campaign } from '../support/campaign.ts';
import { runDialectCampaign } from './campaign.ts';

export default campaign({
  proves: 'nobody pays less than the host bills, in any dialect and translation',
  amounts: { attacks: 20_000 },
  options: { only: '' },
  minutes: 5,
  run: (course, { attacks, only }) =>
    composeAttacks(course, attacks, only, (options) => runDialectCampaign(course, options)),
});
