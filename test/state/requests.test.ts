/** Single requests: finding them by id, and listing them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Outcome } from '../../src/core/settlement.ts';
import { NO_PARTS } from '../../src/core/usage.ts';
import type { KeyRecord } from '../../src/state/keys.ts';
import type { JournalPlace, RequestPageQuery, RequestQuery } from '../../src/state/requests.ts';
import { runs } from '../support/at-length.ts';
import { enter, enterHeld, holdOf, makeKey, NOON, onEachStore, type Stage } from './stage.ts';

const ALL: RequestQuery = { keyId: undefined, sinceMs: undefined, errors: false, limit: 1_000 };
const HOUR_MS = 3_600_000;
const FAILURE = {
  reason: 'http_status',
  status: 401,
  message: 'upstream 401: check the api_key of the provider',
} as const;
const STRANGE = ['', ' ', '%', '_', "' OR 1=1 --", 'req_1; DROP TABLE journal', 'null', '\u0000', '😀', 'REQ_1'];

/** Requests of two keys, four at each moment, that end in a different order than they started. */
async function manyRequests(stage: Stage) {
  const keys = [await makeKey(stage.state), await makeKey(stage.state)] as const;
  const outcomes: readonly Outcome[] = ['ok', 'upstream_error', 'cancelled', 'invalid_request', 'ok'];
  const admitted = Array.from({ length: 40 }, (_, i) => {
    const { id } = keys[i % 3 === 0 ? 0 : 1] as KeyRecord;
    const hold = holdOf(id, { admittedAtMs: NOON + (Math.floor(i / 4) + 1) * HOUR_MS });
    return { hold, outcome: outcomes[i % 5] ?? 'ok' };
  });
  const ended = admitted.toSorted((a, b) => (a.hold.requestId < b.hold.requestId ? -1 : 1));
  for (const { hold, outcome } of ended) await enter(stage, hold, { outcome });
  return { keys, ended: ended.map(({ hold, outcome }, end) => ({ ...hold, outcome, end })) };
}

/** The ids on all pages, one after the other. */
async function allPages(stage: Stage, query: Omit<RequestPageQuery, 'after'>): Promise<string[]> {
  const ids: string[] = [];
  let after: JournalPlace | undefined;
  do {
    const page = await stage.state.requests.page({ ...query, after });
    assert.ok(page.rows.length <= query.limit);
    ids.push(...page.rows.map(({ id }) => id));
    after = page.next;
  } while (after !== undefined);
  return ids;
}

onEachStore((open) => {
  describe('a request', () => {
    test('is found by its id, with all of its fields', async (t) => {
      const stage = await open(t);
      const key = await makeKey(stage.state, { name: 'app' });
      const usage = { promptTokens: 30, cachedTokens: 20, completionTokens: 5 };
      const hold = holdOf(key.id, { holdNanos: 500n });
      const id = await enter(stage, hold, {
        usage: { ...usage, parts: { ...NO_PARTS, cacheWriteTokens: 3, cacheWrite1hTokens: 4 } },
        costNanos: 9_007_199_254_740_993n,
        completionId: 'chatcmpl-7',
        firstByteMs: 42,
        outcome: 'upstream_error',
        served: { model: 'other/echo', upstream: 'other#2', attempts: 3 },
        failure: FAILURE,
        price: '1/0.5/2 of=2026-11-22',
      });
      const found = await stage.state.requests.find(id);
      assert.deepEqual(found, {
        id,
        keyId: key.id,
        key: 'app',
        model: 'other/echo',
        requestedModel: 'mock/echo',
        admittedAtMs: NOON,
        holdNanos: 500n,
        price: '1/0.5/2 of=2026-11-22',
        end: {
          settledAtMs: NOON + 250,
          outcome: 'upstream_error',
          source: 'reported',
          ...usage,
          cacheWriteTokens: 7,
          costNanos: 9_007_199_254_740_993n,
          completionId: 'chatcmpl-7',
          firstByteMs: 42,
          upstream: 'other#2',
          attempts: 3,
          failure: FAILURE,
          correctedAtMs: undefined,
        },
      });
      assert.deepEqual(await stage.state.requests.list(ALL), [found]);
    });

    test('of which little is known has no more', async (t) => {
      const stage = await open(t);
      const failure = { reason: 'internal_error', status: undefined, message: 'no answer' } as const;
      const id = await enter(stage, holdOf((await makeKey(stage.state)).id), { outcome: 'upstream_error', failure });
      const { end } = (await stage.state.requests.find(id)) ?? {};
      const { completionId, firstByteMs, upstream, attempts, correctedAtMs } = end ?? {};
      const unknown = [completionId, firstByteMs, upstream, attempts, correctedAtMs];
      assert.deepEqual(
        unknown,
        unknown.map(() => undefined),
      );
      assert.deepEqual(end?.failure, failure);
    });

    test('in flight counts for its key, until it has ended', async (t) => {
      const stage = await open(t);
      const [key, other] = [await makeKey(stage.state), await makeKey(stage.state)];
      for (const { id } of [key, key, other]) await stage.hold(holdOf(id));
      await enter(stage, holdOf(key.id));
      assert.equal(await stage.state.requests.countOpen(key.id), 2);
    });

    test('in flight is found by its id, and has no end', async (t) => {
      const stage = await open(t);
      const key = await makeKey(stage.state, { name: 'app' });
      const hold = holdOf(key.id, { holdNanos: 500n });
      await stage.hold(hold);
      const { end, ...known } = (await stage.state.requests.find(hold.requestId)) ?? {};
      assert.equal(end, undefined);
      const models = { model: 'mock/echo', requestedModel: 'mock/echo' };
      const expected = {
        id: hold.requestId,
        keyId: key.id,
        key: 'app',
        ...models,
        admittedAtMs: NOON,
        holdNanos: 500n,
      };
      assert.deepEqual(known, expected);
    });

    test('is found by its completion id: the one that ended last, if an upstream has reused the id', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state);
      const [first, second, other] = [holdOf(id), holdOf(id, { admittedAtMs: NOON + 5 }), holdOf(id)];
      await enter(stage, second, { completionId: 'same' });
      await enter(stage, first, { completionId: 'same' });
      await enter(stage, other, { completionId: 'another' });
      assert.equal((await stage.state.requests.find('same'))?.id, first.requestId);
      assert.equal((await stage.state.requests.find('another'))?.id, other.requestId);
    });

    test('is found by the id that its translated answer had', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state);
      const unique = '0'.repeat(26);
      await enter(stage, holdOf(id, { requestId: `req_${unique}` }));
      for (const prefix of ['msg_', 'resp_', 'chatcmpl-']) {
        assert.equal((await stage.state.requests.find(prefix + unique))?.id, `req_${unique}`);
      }
    });

    test('takes precedence over a request whose completion id is the same as its id', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state);
      const [ended, inFlight] = [holdOf(id), holdOf(id)];
      await enter(stage, ended);
      await stage.hold(inFlight);
      for (const { requestId } of [ended, inFlight]) {
        await enter(stage, holdOf(id), { completionId: requestId });
        assert.equal((await stage.state.requests.find(requestId))?.id, requestId);
      }
    });

    for (const strange of STRANGE) {
      test(`is not found by ${JSON.stringify(strange)}`, async (t) => {
        const stage = await open(t);
        await enter(stage, holdOf((await makeKey(stage.state)).id), { completionId: 'chatcmpl-1' });
        assert.equal(await stage.state.requests.find(strange), undefined);
        assert.deepEqual(await stage.state.requests.correct(strange, 1n, NOON), { kind: 'no_such_request' });
      });
    }

    test('has the name of its key even if the key is deleted', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state, { name: 'gone' });
      await enter(stage, holdOf(id));
      await stage.state.keys.setState(id, 'deleted');
      assert.equal((await stage.state.requests.list(ALL))[0]?.key, 'gone');
    });
  });

  describe('the list of requests', () => {
    test('has exactly what the query asks for, by admission and then by end, newest first', async (t) => {
      const stage = await open(t);
      const { keys, ended } = await manyRequests(stage);
      const expected = ended.toSorted((a, b) => b.admittedAtMs - a.admittedAtMs || b.end - a.end);
      const queries = fc.record({
        keyId: fc.constantFrom(undefined, keys[0].id, keys[1].id, 'key_none'),
        sinceMs: fc.oneof(
          fc.constant(undefined),
          fc
            .tuple(fc.integer({ min: -1, max: 12 }), fc.integer({ min: -1, max: 1 }))
            .map(([h, ms]) => NOON + h * HOUR_MS + ms),
        ),
        errors: fc.boolean(),
        limit: fc.integer({ min: 1, max: 50 }),
      });
      const ends = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined });
      await fc.assert(
        fc.asyncProperty(queries, ends, async (query, end) => {
          const { keyId, sinceMs = 0, errors, limit } = query;
          const matching = expected.filter(
            (entry) =>
              (keyId === undefined || entry.keyId === keyId) &&
              entry.admittedAtMs >= sinceMs &&
              (!errors || !['ok', 'cancelled'].includes(entry.outcome)),
          );
          assert.deepEqual(
            (await stage.state.requests.list(query)).map(({ id }) => id),
            matching.slice(0, limit).map(({ requestId }) => requestId),
          );
          const untilMs = end === undefined ? undefined : NOON + end * HOUR_MS;
          const earlier = matching.filter(({ admittedAtMs }) => admittedAtMs < (untilMs ?? Number.POSITIVE_INFINITY));
          assert.deepEqual(
            await allPages(stage, { ...query, untilMs }),
            earlier.map(({ requestId }) => requestId),
          );
        }),
        { numRuns: runs(150) },
      );
    });

    test('has no requests in flight', async (t) => {
      const stage = await open(t);
      await stage.hold(holdOf((await makeKey(stage.state)).id));
      assert.deepEqual(await stage.state.requests.list(ALL), []);
    });

    test('counts an interrupted request as an error', async (t) => {
      const stage = await open(t);
      const id = await enterHeld(stage, holdOf((await makeKey(stage.state)).id, { holdNanos: 700n }));
      const [request] = await stage.state.requests.list({ ...ALL, errors: true });
      assert.deepEqual([request?.id, request?.end?.outcome, request?.end?.source], [id, 'interrupted', 'held']);
    });

    test('has no requests that the retention has dropped', async (t) => {
      const stage = await open(t);
      const { id } = await makeKey(stage.state);
      await enter(stage, holdOf(id, { admittedAtMs: NOON - HOUR_MS }));
      const kept = await enter(stage, holdOf(id));
      await stage.dropOldRows(NOON);
      assert.deepEqual(
        (await stage.state.requests.list(ALL)).map((request) => request.id),
        [kept],
      );
    });
  });

  test('refused requests have no row; by key and month they add up, the most frequent first', async (t) => {
    const stage = await open(t);
    const [key, other] = [await makeKey(stage.state), await makeKey(stage.state)];
    const busy = { month: '2026-11', keyId: key.id, code: 'rate_limited', reason: 'concurrency' };
    const slow = { ...busy, reason: 'requests_per_minute' };
    const broke = { ...busy, code: 'insufficient_credit', reason: 'insufficient_credit' };
    await stage.refuse([{ ...broke, requests: 1, lastAtMs: NOON }]);
    await stage.refuse([{ ...slow, requests: 1, lastAtMs: NOON + 10 }]);
    await stage.refuse([{ ...busy, requests: 2, lastAtMs: NOON + 10 }]);
    await stage.refuse([{ ...busy, requests: 1, lastAtMs: NOON + 5 }]);
    await stage.refuse([{ ...busy, keyId: other.id, requests: 7, lastAtMs: NOON }]);
    await stage.refuse([{ ...busy, month: '2026-10', requests: 9, lastAtMs: NOON }]);
    assert.deepEqual(await stage.state.usage.refusalsOf(key.id, '2026-11'), [
      { code: 'rate_limited', reason: 'concurrency', requests: 3, lastAtMs: NOON + 10 },
      { code: 'insufficient_credit', reason: 'insufficient_credit', requests: 1, lastAtMs: NOON },
      { code: 'rate_limited', reason: 'requests_per_minute', requests: 1, lastAtMs: NOON + 10 },
    ]);
    assert.deepEqual(await stage.state.usage.refusalsOf(key.id, '2026-12'), []);
    assert.deepEqual(await stage.state.requests.list(ALL), []);
  });
});
