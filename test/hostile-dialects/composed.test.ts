/** Composed attacks in the dialects in short; `npm run prove -- hostile-dialects` runs them at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runDialectCampaign } from './campaign.ts';

const SEED = 11;
const ATTACKS = 60;

test('no composition in any dialect is billed more than is held and charged, or passes a limit', async (context) => {
  const options = { seed: SEED, attacks: ATTACKS };
  const { attacks, served, requests, passed, worst } = await runDialectCampaign(context, options);
  context.diagnostic(`worst of 1: ${[...worst].map(([judged, share]) => `${judged} ${share.toFixed(3)}`).join(', ')}`);
  const shown = passed.map(
    ({ round, judged, share, tricks }) => `round ${round}: ${judged} ${share.toFixed(2)} (${tricks})`,
  );
  assert.deepEqual(shown, []);
  assert.equal(attacks, ATTACKS);
  assert.ok(served > requests / 10, `${served} of ${requests} requests were served`);
});
