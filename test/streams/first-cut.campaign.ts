/** The first streams after starts, in several languages, at the paces of models, with little and much money. */
import { campaign, showRow } from '../support/campaign.ts';
import { LANGUAGES, LEAST_SHARE, shareOfFirst } from './first-cut.ts';

const PACES: readonly number[] = [30, 100, 300];
/** In steps of what a hold grows by. */
const PAID: readonly number[] = [1.3, 4];
const STEP = 512;

export default campaign({
  proves: 'the first stream after a start receives at least 97% of the output that its money pays for',
  amounts: { rounds: 1 },
  minutes: 15,
  async run(course, { rounds }) {
    let streams = 0;
    showRow(
      'share of what was paid for',
      PAID.map((steps) => `${steps} steps`),
    );
    for (let round = 0; round < rounds && !course.isOver(); round++) {
      for (const tokensPerSecond of PACES) {
        for (const language of LANGUAGES) {
          const shares: number[] = [];
          for (const steps of PAID) {
            const paidTokens = Math.round(steps * STEP);
            shares.push(await shareOfFirst(course, { language, tokensPerSecond, paidTokens, defaultOutput: STEP }));
          }
          streams += shares.length;
          const name = `${language}, ${tokensPerSecond} tokens/s`;
          showRow(
            name,
            shares.map((share) => share.toFixed(3)),
          );
          for (const share of shares) if (share < LEAST_SHARE) course.deviate(`${name}: only ${share.toFixed(3)}`);
        }
      }
    }
    return `${streams} streams`;
  },
});
