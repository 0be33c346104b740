/** A gateway that is killed while a stream has outgrown its hold charges the grown hold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../src/audit/audit.ts';
import { Site } from '../control/site.ts';
import { chunk } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import { until } from '../support/wait.ts';

const TOKENS = 2_000;

test('kill -9 of a gateway loses nothing of a hold that has grown', async (t) => {
  const site = await Site.open(t, {}, SERVE);
  const key = site.key();
  site.upstream.follow((call) => {
    call.stream();
    call.send(chunk(' word').repeat(TOKENS));
  });
  const held = site.database.prepare('SELECT hold_nanos, output_tokens FROM holds');
  const stream = await site.stream(key);
  while (stream.text.split(' word').length <= TOKENS) assert.ok(await stream.read());
  await until(async () => (await site.snapshot([key.id])).held_usd !== null);
  const before = held.get() as { hold_nanos: number; output_tokens: number };
  assert.ok(before.output_tokens >= TOKENS);
  site.serving.signal('SIGKILL');
  await site.serving.ended;
  await site.place.serve();
  const row = await site.row(stream.id);
  assert.deepEqual([row.source, row.outcome], ['held', 'interrupted']);
  assert.deepEqual([row.cost_nanos, row.completion_tokens], [before.hold_nanos, before.output_tokens]);
  const found = audit(site.place.statePath, { onProgress: () => {} }).flatMap(({ differences }) => differences);
  assert.deepEqual(found, []);
});
