/** Composed attacks in short; `npm run prove -- hostile` runs them at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCampaign } from './campaign.ts';

const SEED = 11;
const ATTACKS = 60;

test('no composition of tricks is billed more than is charged, or passes a limit', async (context) => {
  const { attacks, served, requests, passed, worst } = await runCampaign(context, { seed: SEED, attacks: ATTACKS });
  context.diagnostic(`worst of 1: ${[...worst].map(([judged, share]) => `${judged} ${share.toFixed(3)}`).join(', ')}`);
  const shown = passed.map(
    ({ round, judged, share, tricks }) => `round ${round}: ${judged} ${share.toFixed(2)} (${tricks})`,
  );
  assert.deepEqual(shown, []);
  assert.equal(attacks, ATTACKS);
  assert.ok(served > requests / 10, `${served} of ${requests} requests were served`);
});
