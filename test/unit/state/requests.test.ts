/** Single requests in a real file: finding them by id, and listing them. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Settlement } from '../../../src/core/settlement.ts';
import type { RequestQuery } from '../../../src/state/requests.ts';
import { RequestStore } from '../../../src/state/sqlite/requests.ts';
import { type Bench, type BenchKey, NOON, openBench, USD } from '../ledger/bench.ts';

const ALL: RequestQuery = { keyId: undefined, sinceMs: undefined, errors: false, limit: 1_000 };
const HOUR_MS = 3_600_000;
const FAILURE = {
  reason: 'http_status',
  status: 401,
  message: 'upstream 401: check the api_key of the provider',
} as const;

const storeOf = (bench: Bench) => new RequestStore(bench.operator.database);

describe('a request', () => {
  test('is found by its id, with all of its fields', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const key = bench.newKey({ name: 'app' });
    const id = bench.admit(key, { holdNanos: 500n });
    bench.clock.advance(250);
    const usage = { promptTokens: 30, cachedTokens: 20, completionTokens: 5 };
    bench.settle(id, {
      usage,
      costNanos: 123n,
      completionId: 'chatcmpl-7',
      firstByteMs: 42,
      outcome: 'upstream_error',
      served: { model: 'other/echo', upstream: 'other#2', attempts: 3 },
      failure: FAILURE,
    });
    assert.deepEqual(storeOf(bench).find(id), {
      id,
      keyId: key.id,
      key: 'app',
      model: 'other/echo',
      requestedModel: 'mock/echo',
      admittedAtMs: NOON,
      holdNanos: 500n,
      end: {
        settledAtMs: NOON + 250,
        outcome: 'upstream_error',
        source: 'reported',
        ...usage,
        cacheWriteTokens: 0,
        costNanos: 123n,
        completionId: 'chatcmpl-7',
        firstByteMs: 42,
        upstream: 'other#2',
        attempts: 3,
        failure: FAILURE,
        correctedAtMs: undefined,
      },
    });
  });

  test('in flight is found by its id, and has no end', (t) => {
    const bench = openBench(t, { creditEnforced: false });
    const key = bench.newKey({ name: 'app' });
    const id = bench.admit(key, { holdNanos: 500n });
    const { end, ...known } = storeOf(bench).find(id) ?? {};
    assert.equal(end, undefined);
    const models = { model: 'mock/echo', requestedModel: 'mock/echo' };
    assert.deepEqual(known, { id, keyId: key.id, key: 'app', ...models, admittedAtMs: NOON, holdNanos: 500n });
  });

  test('is found by its completion id: the latest one, if an upstream has reused the id', (t) => {
    const bench = openBench(t);
    const key = bench.newKey();
    const [first, second, other] = [bench.admit(key), bench.admit(key), bench.admit(key)];
    bench.settle(second, { completionId: 'same' });
    bench.settle(first, { completionId: 'same' });
    bench.settle(other, { completionId: 'another' });
    assert.equal(storeOf(bench).find('same')?.id, first);
    assert.equal(storeOf(bench).find('another')?.id, other);
  });

  test('takes precedence over a request whose completion id is the same as its id', (t) => {
    const bench = openBench(t);
    const key = bench.newKey();
    const [id, impostor, open] = [bench.admit(key), bench.admit(key), bench.admit(key)];
    bench.settle(id);
    bench.settle(impostor, { completionId: id });
    bench.settle(bench.admit(key), { completionId: open });
    assert.equal(storeOf(bench).find(id)?.id, id);
    assert.equal(storeOf(bench).find(open)?.id, open);
  });

  for (const strange of [
    '',
    ' ',
    '%',
    '_',
    "' OR 1=1 --",
    'req_1; DROP TABLE journal',
    'null',
    '\u0000',
    '😀',
    'REQ_1',
  ]) {
    test(`is not found by ${JSON.stringify(strange)}`, (t) => {
      const bench = openBench(t);
      bench.settle(bench.admit(bench.newKey()), { completionId: 'chatcmpl-1' });
      assert.equal(storeOf(bench).find(strange), undefined);
      assert.deepEqual(storeOf(bench).correct(strange, 1n, NOON), { kind: 'no_such_request' });
    });
  }

  test('has the name of its key even if the key is deleted', (t) => {
    const bench = openBench(t);
    const key = bench.newKey({ name: 'gone' });
    bench.settle(bench.admit(key));
    bench.operator.keys.setState(key.id, 'deleted');
    assert.equal(storeOf(bench).list(ALL)[0]?.key, 'gone');
  });
});

/** Requests of two keys, four at each moment, that end in a different order than they started. */
function manyRequests(bench: Bench) {
  const keys = [bench.newKey(), bench.newKey()] as const;
  const outcomes: readonly Settlement['outcome'][] = ['ok', 'upstream_error', 'cancelled', 'invalid_request', 'ok'];
  const admitted = Array.from({ length: 40 }, (_, i) => {
    if (i % 4 === 0) bench.clock.advance(HOUR_MS);
    const key = keys[i % 3 === 0 ? 0 : 1] as BenchKey;
    return {
      id: bench.admit(key),
      keyId: key.id,
      atMs: bench.clock.wallMs(),
      outcome: outcomes[i % 5] ?? 'ok',
      end: 0,
    };
  });
  const ended = admitted.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const [end, entry] of ended.entries()) {
    bench.settle(entry.id, { outcome: entry.outcome });
    entry.end = end;
  }
  return { keys, entries: ended };
}

describe('the list of requests', () => {
  test('has exactly what the query asks for, by admission and then by end, newest first', (t) => {
    const bench = openBench(t);
    const { keys, entries } = manyRequests(bench);
    const expected = entries.toSorted((a, b) => b.atMs - a.atMs || b.end - a.end);
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
    fc.assert(
      fc.property(queries, (query) => {
        const { keyId, sinceMs = 0, errors, limit } = query;
        const matching = expected.filter(
          (entry) =>
            (keyId === undefined || entry.keyId === keyId) &&
            entry.atMs >= sinceMs &&
            (!errors || !['ok', 'cancelled'].includes(entry.outcome)),
        );
        assert.deepEqual(
          storeOf(bench)
            .list(query)
            .map(({ id }) => id),
          matching.slice(0, limit).map(({ id }) => id),
        );
      }),
      { numRuns: 300 },
    );
  });

  test('has no requests in flight', (t) => {
    const bench = openBench(t);
    bench.admit(bench.newKey());
    assert.deepEqual(storeOf(bench).list(ALL), []);
  });

  test('counts an interrupted request as an error', (t) => {
    const bench = openBench(t, { creditEnforced: false });
    const id = bench.admit(bench.newKey(), { holdNanos: 700n });
    bench.database.close();
    bench.start();
    const [request] = storeOf(bench).list({ ...ALL, errors: true });
    assert.deepEqual([request?.id, request?.end?.outcome, request?.end?.source], [id, 'interrupted', 'held']);
  });
});
