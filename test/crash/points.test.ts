/**
 * The guarantees under `kill -9` at every step of a request: what the host saw, what is written,
 * what the client has. Each step has one kind of response here, and every second gateway dies among
 * other requests; `npm run prove -- crash` has all of them in both ways.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONCURRENCY } from '../support/cli.ts';
import { Deaths, everySecond, expected } from './deaths.ts';
import { FATES } from './points.ts';

const KINDS = { json: everySecond(0), stream: everySecond(1) };

describe('a request at which the gateway dies leaves what the table says', { concurrency: CONCURRENCY }, () => {
  for (const kind of ['json', 'stream'] as const) {
    test(kind, async (t) => {
      const lives = KINDS[kind];
      const deaths = await Deaths.begin(t, kind, lives[0]);
      for (const [index, { point, amongOthers }] of lives.entries()) {
        const fate = FATES[point];
        const claim = `the row is ${fate.row}, the client has ${fate[kind]}`;
        await t.test(`${point}, ${amongOthers ? 'among others' : 'alone'}: ${claim}`, async () => {
          assert.deepEqual(await deaths.die(lives[index + 1]), expected(fate, kind));
        });
      }
      assert.deepEqual(await deaths.finish(), []);
    });
  }
});
