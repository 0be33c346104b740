/** Composed attacks on units of price in short; `npm run prove -- hostile-units` runs them at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runUnitCampaign } from './units/campaign.ts';

const SEED = 11;
const ATTACKS = 60;

test('no composition of units, images and sound is billed more than is charged, or passes a limit', async (context) => {
  const { attacks, served, requests, passed } = await runUnitCampaign(context, { seed: SEED, attacks: ATTACKS });
  const shown = passed.map(({ round, judged, share, tricks }) => `round ${round}: ${judged} ${share} (${tricks})`);
  assert.deepEqual(shown, []);
  assert.equal(attacks, ATTACKS);
  assert.ok(served > requests / 10, `${served} of ${requests} requests were served`);
});
