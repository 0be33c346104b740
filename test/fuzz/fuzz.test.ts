/** Fuzzing, short form; `npm run prove -- fuzz` is the long one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aftermathOf } from './aftermath.ts';
import { AnswerCampaign } from './answer-campaign.ts';
import { runCampaign } from './campaign.ts';
import { RequestCampaign } from './request-campaign.ts';
import { ServerCampaign } from './server-campaign.ts';
import { openFuzzSite } from './site.ts';

const SEED = 4;
const COUNT = 150;

test('whatever clients and hosts send, the gateway stays up, has no internal error, leaks nothing, and its sums are correct', async (t) => {
  const fuzz = await openFuzzSite(t);
  for (const campaign of [new RequestCampaign(fuzz, SEED), new AnswerCampaign(fuzz, SEED)]) {
    const { cases, statuses, deviations } = await runCampaign(campaign, { seed: SEED, count: COUNT });
    assert.deepEqual(deviations, []);
    assert.equal(cases, COUNT);
    const [served, refused] = [statuses.get(200) ?? 0, [...statuses.keys()].filter((status) => status >= 400)];
    assert.ok(served > COUNT / 10 && refused.length > 0, `some are served, and some are not: ${[...statuses]}`);
  }
  const { deviations, journalRows } = await aftermathOf(fuzz);
  assert.deepEqual(deviations, []);
  assert.ok(journalRows > COUNT);
});

test("the HTTP server hands on the same requests as Node's and answers them with the same bytes, whatever they are sent", async () => {
  const { statuses, deviations } = await runCampaign(new ServerCampaign(SEED), { seed: SEED, count: 10 * COUNT });
  assert.deepEqual(deviations, []);
  assert.ok((statuses.get(200) ?? 0) > COUNT, `some are answered: ${[...statuses]}`);
});
