/**
 * Reloads under load: no request is lost, no limit is exceeded, and nothing of an old config is
 * left open.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { audit } from '../../src/audit/audit.ts';
import { chunk, completion, DONE } from '../support/answers.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { type Fields, Place, rawChat, type TestKey } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';

const RELOADS = 12;
const CLIENTS = 12;

/**
 * Sends one request after another on a connection of its own until it is stopped. Returns all
 * statuses.
 */
async function keepAsking(place: Place, key: TestKey, isOver: () => boolean): Promise<number[]> {
  const connection = await RawConnection.open(place.port);
  const statuses: number[] = [];
  while (!isOver()) {
    connection.send(rawChat(key));
    statuses.push((await connection.answer()).status);
  }
  connection.leave();
  return statuses;
}

/** Every client sends the same number of requests. Returns how many were admitted. */
async function admitted(place: Place, key: TestKey, each: number): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: CLIENTS }, () => {
      let sent = 0;
      return keepAsking(place, key, () => sent++ === each);
    }),
  );
  return statuses.flat().filter((status) => status === 200).length;
}

describe('reloads', { concurrency: CONCURRENCY }, () => {
  for (const threads of [1, 2]) {
    test(`lose no request under load: ${threads} threads`, async (t) => {
      const generous = { threads, tiers: { standard: { rpm: 1_000_000, tpm: 1_000_000_000 } } };
      const place = await Place.open(t, generous);
      const key = place.key();
      let isOver = false;
      const clients = Promise.all(Array.from({ length: CLIENTS }, () => keepAsking(place, key, () => isOver)));
      for (let i = 0; i < RELOADS; i++) {
        await place.reload(generous);
        const { length } = place.upstream.calls;
        await place.upstream.call(length + CLIENTS);
      }
      isOver = true;
      const statuses = (await clients).flat();
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.equal(place.rows(key).length, statuses.length);
      await place.stop();
      const differences = audit(place.statePath, { onProgress: () => {} }).flatMap((check) => check.differences);
      assert.deepEqual(differences, []);
    });

    test(`lose no request whose body is still arriving: ${threads} threads`, async (t) => {
      const place = await Place.open(t, { threads });
      const [key, connection] = [place.key(), await RawConnection.open(place.port)];
      const bytes = rawChat(key).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n');
      connection.send(bytes.slice(0, -10));
      assert.equal((await connection.answer()).status, 100, 'the key was checked, and the body is awaited');
      await place.reload({ threads });
      await place.reload({ threads });
      connection.send(bytes.slice(-10));
      assert.equal((await connection.answer()).status, 200);
      connection.leave();
      await place.stop();
    });
  }

  test('keep limits in force, and a new limit counts earlier requests', async (t) => {
    const limited = (rpm: number): Fields => ({ threads: 2, tiers: { standard: { rpm } } });
    const place = await Place.open(t, limited(100));
    const key = place.key();
    const reloads = async (rpm: number) => {
      for (let i = 0; i < 5; i++) await place.reload(limited(rpm));
    };
    const [first] = await Promise.all([admitted(place, key, 5), reloads(100)]);
    assert.equal(first, 60);
    const [second] = await Promise.all([admitted(place, key, 10), reloads(100)]);
    assert.equal(second, 40);
    await place.reload(limited(130));
    const [third] = await Promise.all([admitted(place, key, 5), reloads(130)]);
    assert.equal(third, 30);
    await place.stop();
  });

  test('close the upstream connections of the old config when its last request has ended, not before', async (t) => {
    const place = await Place.open(t);
    const release = Promise.withResolvers<void>();
    place.upstream.follow(async (call) => {
      if (!JSON.parse(call.body).stream) return call.answer(200, completion('hi'));
      call.stream();
      call.send(chunk('Hello'));
      await release.promise;
      call.send(chunk(' you', 'stop') + DONE);
      call.end();
    });
    const key = place.key();
    const stream = await place.stream(key);
    assert.equal(await place.outcome(key), '200');
    const [ofStream, ofAnswer] = place.upstream.calls;
    await place.reload();
    assert.equal(await place.outcome(key), '200');
    const ofNew = place.upstream.calls[2];
    assert.equal(
      new Set(place.upstream.calls.map(({ connection }) => connection)).size,
      3,
      'each pool has a connection of its own',
    );
    release.resolve();
    assert.ok((await stream.rest()).endsWith(chunk(' you', 'stop') + DONE));
    await Promise.all([ofStream?.closed, ofAnswer?.closed]);
    assert.equal(await place.outcome(key), '200');
    assert.equal(place.upstream.calls[3]?.connection, ofNew?.connection, 'the new pool keeps its connection');
    await place.stop();
  });
});
