/**
 * Upstreams of a provider: backoffs of models and of whole upstreams, probes, shares, and the last
 * resort.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Attempt, UpstreamFailure } from '../../../src/upstream/attempt.ts';
import { PROBE_INTERVAL_MS } from '../../../src/upstream/backoff.ts';
import { OPEN_MS, OPENS_AFTER_FAILURES } from '../../../src/upstream/breaker.ts';
import { LAST_RESORT_MAX_UNAVAILABLE } from '../../../src/upstream/choice.ts';
import { type Member, Provider } from '../../../src/upstream/provider.ts';
import type { ChatRequest } from '../../../src/wire/request.ts';
import { NO_SECRETS } from '../../../src/wire/secrets.ts';

const REQUEST = {} as ChatRequest;
const NOBODY: ReadonlySet<Member> = new Set();
const SOURCE = { pause() {}, resume() {}, abort() {} };

/** How an attempt ends: a status, perhaps with `Retry-After` in seconds, or a failure. */
type Fate = number | readonly [status: number, retryAfterS: number] | 'unreachable' | 'broken' | 'aborted';

function meet(attempt: Attempt, fate: Fate): void {
  if (fate === 'unreachable') return attempt.fail(new UpstreamFailure('not_connected', 'connection refused'));
  attempt.begin(SOURCE);
  if (fate === 'broken') return attempt.fail(new UpstreamFailure('broken', 'reset'));
  if (fate === 'aborted') return attempt.abort();
  const [status, retryAfterS] = typeof fate === 'number' ? [fate, undefined] : fate;
  const retryAfter = retryAfterS === undefined ? undefined : String(retryAfterS);
  attempt.receiveHead({ status, contentType: '', contentEncoding: undefined, retryAfter });
}

/** Upstreams that respond on command, and a clock that is moved by hand. */
class Bench {
  readonly provider: Provider;
  nowMs = 1_000;
  readonly #attempts: Attempt[] = [];

  constructor(weights: readonly number[], tracksHealth = true) {
    const upstreams = weights.map((weight, i) => ({
      name: `p#${i + 1}`,
      weight,
      upstream: {
        secrets: { ...NO_SECRETS, parts: ['shared', `secret-${i + 1}`], credentials: [`key-${i + 1}`] },
        attempt: () => {
          const attempt = new Attempt();
          this.#attempts.push(attempt);
          return attempt;
        },
        close: async () => {},
      },
    }));
    this.provider = new Provider(upstreams, { onDisconnect: 'abort', tracksHealth }, () => this.nowMs);
  }

  member(place = 0): Member {
    return this.provider.members[place] as Member;
  }

  /**
   * Sends a request to the upstream that is picked, and leaves it open; undefined if none is
   * eligible.
   */
  ask(model = 'm', isLastResort = false): { name: string; attempt: Attempt } | undefined {
    const member = this.provider.pick(model, NOBODY, isLastResort ? 'last_resort' : 'available');
    if (member === undefined) return undefined;
    return { name: member.name, attempt: member.attempt(REQUEST, model, undefined) };
  }

  /** Sends a request to an upstream, and ends it with this fate. */
  async visit(fate: Fate, { model = 'm', place = 0 } = {}): Promise<void> {
    meet(this.member(place).attempt(REQUEST, model, undefined), fate);
    this.member(place).release();
    await turn();
  }

  async visits(count: number, fate: Fate, where = {}): Promise<void> {
    for (let i = 0; i < count; i++) await this.visit(fate, where);
  }

  /** The upstream that would be picked among the available ones. */
  picked(model = 'm'): string | undefined {
    return this.provider.pick(model, NOBODY, 'available')?.name;
  }

  isLastResort(model = 'm'): boolean {
    return this.provider.pick(model, NOBODY, 'last_resort') !== undefined;
  }
}

describe('a backoff', () => {
  test('after 429 applies to the model, and others are still served', async () => {
    const bench = new Bench([1]);
    await bench.visit([429, 4], { model: 'a' });
    assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.member().state], [undefined, 'p#1', 'backing_off']);
    assert.deepEqual([bench.provider.waitMs('a'), bench.provider.waitMs('b')], [4_000, 0]);
    bench.nowMs += 3_999;
    assert.equal(bench.picked('a'), undefined);
    bench.nowMs += 1;
    assert.deepEqual([bench.picked('a'), bench.member().state], ['p#1', 'closed']);
  });

  for (const status of [503, 529]) {
    test(`after ${status} applies to the whole upstream`, async () => {
      const bench = new Bench([1, 1]);
      await bench.visit([status, 7], { model: 'a' });
      assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.member().state], ['p#2', 'p#2', 'backing_off']);
      assert.equal(bench.provider.waitMs('a'), 0, 'the other one is available at once');
      bench.nowMs += 7_000;
      assert.equal(bench.member().state, 'closed');
    });
  }

  for (const status of [429, 503]) {
    test(`after ${status} is not shortened by a later one`, async () => {
      const bench = new Bench([1]);
      await bench.visit([status, 4]);
      await bench.visit([status, 1]);
      bench.nowMs += 3_000;
      assert.equal(bench.picked(), undefined);
      bench.nowMs += 1_000;
      assert.equal(bench.picked(), 'p#1');
    });

    for (const count of [1, 3 * LAST_RESORT_MAX_UNAVAILABLE]) {
      test(`of an hour after ${count} answers of ${status} lets one request through every few seconds`, async () => {
        const bench = new Bench([1]);
        await bench.visits(count, [status, 3_600]);
        for (let probe = 0; probe < 3; probe++) {
          bench.nowMs += PROBE_INTERVAL_MS - 1;
          assert.deepEqual([bench.picked(), bench.provider.waitMs('m')], [undefined, 1]);
          bench.nowMs += 1;
          assert.equal(bench.provider.waitMs('m'), 0);
          const sent = bench.ask();
          assert.deepEqual([sent?.name, bench.picked()], ['p#1', undefined], 'one request');
          meet(sent?.attempt as Attempt, [status, 3_600]);
          await turn();
          assert.equal(bench.isLastResort(), count === 1);
        }
      });
    }

    test(`after ${status} ends with the success of a probe`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE, [status, 3_600]);
      bench.nowMs += PROBE_INTERVAL_MS;
      await bench.visit(200);
      assert.deepEqual([bench.picked(), bench.member().state, bench.provider.waitMs('m')], ['p#1', 'closed', 0]);
    });

    test(`after ${status} does not end with a probe that the upstream finds invalid`, async () => {
      const bench = new Bench([1]);
      await bench.visits(LAST_RESORT_MAX_UNAVAILABLE, [status, 3_600]);
      bench.nowMs += PROBE_INTERVAL_MS;
      await bench.visit(400);
      assert.deepEqual([bench.picked(), bench.member().state], [undefined, 'backing_off']);
    });
  }

  test('of a model ends with the success of a probe for that model alone', async () => {
    const bench = new Bench([1]);
    for (const model of ['a', 'b']) await bench.visit([429, 3_600], { model });
    bench.nowMs += PROBE_INTERVAL_MS - 1;
    for (const model of ['a', 'c']) await bench.visit(200, { model });
    assert.deepEqual([bench.picked('a'), bench.picked('b')], ['p#1', undefined]);
  });

  test('is probed next to an upstream that is available, and gets its share again after a success', async () => {
    const bench = new Bench([1, 1]);
    await bench.visit([503, 3_600]);
    const served = async (count: number) => {
      const names: (string | undefined)[] = [];
      for (let i = 0; i < count; i++) {
        const sent = bench.ask();
        meet(sent?.attempt as Attempt, 200);
        names.push(sent?.name);
        await turn();
      }
      return names.filter((name) => name === 'p#1').length;
    };
    assert.equal(await served(20), 0);
    bench.nowMs += PROBE_INTERVAL_MS;
    assert.equal(await served(20), 10);
  });

  test('lasts as long as the upstream asked for, however often: it is no failure', async () => {
    const bench = new Bench([1]);
    await bench.visits(3 * LAST_RESORT_MAX_UNAVAILABLE, [503, 1]);
    assert.deepEqual([bench.isLastResort(), bench.provider.waitMs('m')], [false, 1_000]);
    bench.nowMs += 1_000;
    assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'closed']);
  });

  test('does not start with any other status', async () => {
    const bench = new Bench([1]);
    for (const status of [200, 400, 500, 502]) await bench.visit([status, 60]);
    assert.equal(bench.picked(), 'p#1');
  });

  test('of one model after another never blocks a third, however many requests are rejected at once', async () => {
    const bench = new Bench([1]);
    for (const model of ['a', 'b']) await bench.visits(3 * LAST_RESORT_MAX_UNAVAILABLE, [429, 60], { model });
    assert.deepEqual([bench.picked('a'), bench.picked('b'), bench.picked('c')], [undefined, undefined, 'p#1']);
    assert.deepEqual([bench.isLastResort('a'), bench.isLastResort('c')], [false, true]);
  });

  test('is not ended by the response to an earlier request', async () => {
    const bench = new Bench([1]);
    const early = bench.member().attempt(REQUEST, 'm', undefined);
    await bench.visit([429, 7]);
    meet(early, 200);
    await turn();
    assert.equal(bench.picked(), undefined);
    assert.ok(bench.isLastResort(), 'the rejections are no longer in a row');
  });
});

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
    probe.attempt.receiveHead({ status: 200, contentType: '', contentEncoding: undefined, retryAfter: undefined });
    await turn();
    assert.deepEqual([bench.picked(), bench.member().state], ['p#1', 'closed']);
  });
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
