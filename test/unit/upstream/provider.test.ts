/** Upstreams of a provider: probes, shares, and the last resort. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Attempt } from '../../../src/upstream/attempt.ts';
import { OPEN_MS, OPENS_AFTER_FAILURES } from '../../../src/upstream/breaker.ts';
import { LAST_RESORT_MAX_UNAVAILABLE } from '../../../src/upstream/choice.ts';
import { Bench, type Fate, meet, SOURCE } from './bench.ts';

describe('the last resort', () => {
  const AWAY: readonly (readonly [name: string, fate: Fate])[] = [
    ['was unreachable', 'unreachable'],
    ['has rejected the model', [429, 3_600]],
    ['has sent Retry-After', [503, 3_600]],
  ];
  for (const [name, fate] of AWAY) {
    test(`is a sole upstream that ${name}, until it has done so ten times in a row`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE - 1, fate);
      assert.deepEqual([bench.picked(), bench.isLastResort()], [undefined, true]);
      await bench.visit(fate);
      assert.equal(bench.isLastResort(), false);
      assert.ok(bench.provider.waitMs('m') > 0);
    });

    test(`is one that ${name} nine times, and then responded in between`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE - 1, fate);
      await bench.visit(500);
      await bench.visit(fate);
      assert.equal(bench.isLastResort(), true);
    });
  }

  test('is a sole upstream that responds, however often it has failed', async () => {
    const bench = new Bench([1]);
    await bench.visits(100, 500);
    assert.deepEqual([bench.picked(), bench.isLastResort(), bench.member().state], [undefined, true, 'open']);
  });

  test('ends if the upstream was unreachable: one request probes it, and the others follow', async () => {
    const bench = new Bench([1]);
    await bench.visits(LAST_RESORT_MAX_UNAVAILABLE, 'unreachable');
    bench.nowMs += OPEN_MS;
    const probe = bench.ask();
    assert.ok(probe !== undefined);
    assert.deepEqual([bench.picked(), bench.isLastResort()], [undefined, false], 'one is probing');
    probe.attempt.begin(SOURCE);
    assert.deepEqual([bench.picked(), bench.isLastResort()], [undefined, true], 'there is a connection');
    probe.attempt.receiveHead({ status: 200, contentType: '', isEncoded: false, retryAfter: undefined });
    await turn();
    assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'closed']);
  });
});

test('an upstream is not blamed for what the gateway has run out of, and a probe that met that is made again', async () => {
  const bench = new Bench([1]);
  await bench.visits(100, 'no_socket');
  assert.deepEqual([bench.picked(), bench.member().state, bench.member().breaker.failures], ['p#1', 'closed', 0]);
  await bench.visits(OPENS_AFTER_FAILURES, 'broken');
  bench.nowMs += OPEN_MS;
  await bench.visit('no_socket');
  assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'half_open']);
});

describe('a probe', () => {
  /** An upstream whose breaker is half open. */
  async function halfOpen(): Promise<Bench> {
    const bench = new Bench([1]);
    await bench.visits(OPENS_AFTER_FAILURES, 'broken');
    assert.equal(bench.picked(), undefined);
    bench.nowMs += OPEN_MS;
    assert.equal(bench.member().state, 'half_open');
    return bench;
  }

  test('is one request at a time', async () => {
    const bench = await halfOpen();
    assert.equal(bench.ask()?.name, 'p#1');
    assert.equal(bench.picked(), undefined);
  });

  const FATES: readonly (readonly [fate: Fate, state: string])[] = [
    [200, 'closed'],
    [400, 'closed'],
    [500, 'open'],
    [429, 'open'],
    ['broken', 'open'],
    ['unreachable', 'open'],
    [[503, 1], 'backing_off'],
    ['aborted', 'half_open'],
  ];
  for (const [fate, state] of FATES) {
    test(`that ends with ${fate} leaves the upstream ${state}`, async () => {
      const bench = await halfOpen();
      const probe = bench.ask();
      meet(probe?.attempt as Attempt, fate);
      await turn();
      assert.equal(bench.member().state, state);
      assert.equal(bench.picked(), ['closed', 'half_open'].includes(state) ? 'p#1' : undefined);
    });
  }

  test('that is rejected only for its model closes the breaker', async () => {
    const bench = await halfOpen();
    meet(bench.ask('a')?.attempt as Attempt, [429, 60]);
    await turn();
    assert.deepEqual([bench.picked('a'), bench.picked('b')], [undefined, 'p#1']);
  });

  test('keeps its place if another request is aborted', async () => {
    const bench = await halfOpen();
    const [probe, other] = [bench.ask(), bench.ask('m', true)];
    assert.ok(probe !== undefined && other !== undefined);
    meet(other.attempt, 'aborted');
    await turn();
    assert.equal(bench.picked(), undefined);
  });
});

describe('an upstream', () => {
  test('that is down gets no requests, and afterwards no more than its share', async () => {
    const bench = new Bench([1, 1, 2]);
    await bench.visits(OPENS_AFTER_FAILURES, 'unreachable', { place: 0 });
    const count = async (rounds: number) => {
      const names: string[] = [];
      for (let i = 0; i < rounds; i++) {
        const asked = bench.ask();
        meet(asked?.attempt as Attempt, 200);
        names.push(asked?.name ?? '');
        await turn();
      }
      return ['p#1', 'p#2', 'p#3'].map((name) => names.filter((each) => each === name).length);
    };
    assert.deepEqual(await count(30), [0, 10, 20]);
    bench.nowMs += OPEN_MS;
    assert.deepEqual(await count(40), [10, 10, 20]);
  });

  test('that was already tried is not picked again', () => {
    const bench = new Bench([1, 1]);
    assert.equal(bench.provider.pick('m', new Set([bench.member(0)]), 'available')?.name, 'p#2');
    assert.equal(bench.provider.pick('m', new Set(bench.provider.members), 'last_resort'), undefined);
  });

  test('whose health is not tracked is picked whatever happened before', async () => {
    const bench = new Bench([1], false);
    for (const fate of [500, 'unreachable', 'broken', [429, 60], [503, 60]] as const) await bench.visits(12, fate);
    assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'closed']);
  });

  test('has as many requests in flight as were sent and not released', () => {
    const bench = new Bench([1]);
    bench.ask();
    bench.ask();
    bench.member().release();
    assert.equal(bench.member().inFlight, 1);
  });
});

test('the secrets of a provider are those of all its upstreams', () => {
  assert.deepEqual(new Bench([1, 1]).provider.secrets, {
    parts: ['shared', 'secret-1', 'secret-2'],
    words: [],
    credentials: ['key-1', 'key-2'],
  });
});
