/** The promises about `kill -9` at every step of a request: what the host saw, what is written, what the client has. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deaths, expected } from './deaths.ts';
import { FATES, POINTS } from './points.ts';

const COMPANY = { alone: false, 'among others': true };

describe('a request with which the gateway dies leaves what its table says', { concurrency: true }, () => {
  for (const kind of ['json', 'stream'] as const) {
    for (const [company, amongOthers] of Object.entries(COMPANY)) {
      test(`${kind}, ${company}`, async (t) => {
        const deaths = await Deaths.begin(t, { kind, amongOthers, first: POINTS[0] as (typeof POINTS)[number] });
        for (const [index, point] of POINTS.entries()) {
          await t.test(`${point}: the row is ${FATES[point].row}, the client has ${FATES[point][kind]}`, async () => {
            assert.deepEqual(await deaths.die(POINTS[index + 1]), expected(FATES[point], kind));
          });
        }
        assert.deepEqual(await deaths.finish(), []);
      });
    }
  }
});
