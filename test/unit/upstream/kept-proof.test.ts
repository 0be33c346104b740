/** Tokens that are kept: how long one is good, and how often the next one is asked for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keptProof, type Proof, type Proofs } from '../../../src/upstream/kept-proof.ts';
import { HandClock } from '../ledger/bench.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Whoever gives tokens, which last so long from now. */
function rig(lastsMs: number) {
  const clock = new HandClock();
  const giver = { asked: 0, fails: false, toldOfRefusal: false };
  const find = async (isRefused: boolean): Promise<Proof> => {
    giver.asked++;
    giver.toldOfRefusal = isRefused;
    if (giver.fails) throw new Error('not now');
    return { headers: { authorization: `Bearer ${giver.asked}` }, expiresMs: clock.wallMs() + lastsMs };
  };
  const proofs = keptProof(find, clock);
  return { clock, giver, proofs, authorize: () => proofs.headers() };
}

async function askOften(authorize: Proofs['headers']): Promise<void> {
  for (let i = 0; i < 50; i++) await authorize();
}

describe('a kept token', () => {
  test('is no longer good than it lasts, whatever the clock is set to', async () => {
    const { clock, giver, authorize } = rig(HOUR_MS);
    await authorize();
    clock.advance(2 * HOUR_MS);
    clock.wall -= 2 * HOUR_MS;
    assert.equal((await authorize()).authorization, 'Bearer 2');
    // Monotonic time stands still while a machine sleeps.
    clock.wall += 2 * HOUR_MS;
    assert.equal((await authorize()).authorization, 'Bearer 3');
    assert.equal(giver.asked, 3);
  });

  test('is asked for anew within a day, whatever is said of its end', async () => {
    const { clock, authorize } = rig(Number.POSITIVE_INFINITY);
    await authorize();
    clock.advance(24 * HOUR_MS);
    assert.equal((await authorize()).authorization, 'Bearer 2');
  });

  test('that is about to expire makes requests ask once a second, whether it fails or the next one is as short', async () => {
    const { clock, giver, authorize } = rig(4 * MINUTE_MS);
    await askOften(authorize);
    assert.equal(giver.asked, 1);
    for (const fails of [true, false]) {
      giver.fails = fails;
      clock.advance(1_000);
      giver.asked = 0;
      await askOften(authorize);
      assert.equal(giver.asked, 1);
    }
  });

  test('that a host has refused is followed by another, and that by one in five minutes', async () => {
    const { clock, giver, proofs, authorize } = rig(HOUR_MS);
    const refused = async (headers: Record<string, string>) => {
      clock.advance(1_000);
      proofs.refused(headers);
      await askOften(authorize);
    };
    const first = await authorize();
    await refused(first);
    const second = await authorize();
    assert.deepEqual([second.authorization, giver.asked, giver.toldOfRefusal], ['Bearer 2', 2, true]);
    // By a request that was on its way with the one before.
    await refused(first);
    await refused(second);
    clock.advance(4 * MINUTE_MS);
    await refused(second);
    assert.equal(giver.asked, 2);
    clock.advance(MINUTE_MS);
    giver.fails = true;
    await refused(second);
    assert.equal(giver.asked, 3, 'whoever gives none is not asked by each request');
    assert.equal(await authorize(), second, 'which the host may take again');
  });
});

test('an answer that comes too late leaves the request for a token that was made after it', async () => {
  const clock = new HandClock();
  const answers: PromiseWithResolvers<Proof>[] = [];
  const proofs = keptProof(() => {
    const answer = Promise.withResolvers<Proof>();
    answers.push(answer);
    return answer.promise;
  }, clock);
  const authorize = () => proofs.headers();
  const first = authorize();
  clock.advance(11_000);
  const second = authorize();
  answers[0]?.reject(new Error('timed out'));
  await assert.rejects(first);
  const third = authorize();
  assert.equal(answers.length, 2);
  answers[1]?.resolve({ headers: { authorization: 'Bearer 2' }, expiresMs: clock.wallMs() + HOUR_MS });
  for (const each of [second, third]) assert.equal((await each).authorization, 'Bearer 2');
});
