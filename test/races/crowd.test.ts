/** Crowds, in short. `npm run prove -- users` is the long form. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openState } from '../../src/state/open.ts';
import { startTestGateway } from '../support/gateway.ts';
import { Random } from '../support/random.ts';
import { type Arena, DEAR_MODEL, raceForGroup, raceOfUsers } from './crowd.ts';

const USERS = 200;
const SEED = 4_711;

async function inArena(t: { after(work: () => Promise<void>): void }): Promise<Arena> {
  const gateway = await startTestGateway({ provider: { models: DEAR_MODEL } });
  t.after(() => gateway.stop());
  const state = await openState({ kind: 'file', path: gateway.statePath }, 'full');
  t.after(() => state.close());
  return { ports: [gateway.port], upstream: gateway.upstream, state };
}

test('of 400 requests at once of 50 keys, which share a dollar, exactly those are admitted that it covers', async (t) => {
  assert.deepEqual(await raceForGroup(await inArena(t), 'department'), []);
});

test('users of one app who race for a dollar a day each spend it exactly', async (t) => {
  assert.deepEqual(await raceOfUsers(await inArena(t), 'app', USERS, new Random(SEED)), []);
});
