/** The paces of streams and models, and how long growths take. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GrowthTimes, ModelPaces, Pace } from '../../../src/proxy/pace.ts';

/** The pace after these samples, in tokens a second. */
function paceOf(...samples: readonly (readonly [ms: number, tokens: number])[]): number {
  const pace = new Pace();
  for (const [ms, tokens] of samples) pace.add(1_000 + ms, tokens);
  return pace.tokensIn(1_000);
}

describe('the pace of a stream is', () => {
  test('nothing before it has written', () => assert.equal(paceOf(), 0));
  test('that of its first window', () => assert.equal(paceOf([0, 1], [50, 50], [500, 500]), 1_000));
  test('what a burst comes to in a window', () => assert.equal(paceOf([0, 100], [1, 200]), 2_000));
  test('that of its last window, while this one has brought less', () => {
    assert.equal(paceOf([0, 0], [500, 500], [550, 500]), 1_000);
  });
  test('that of this window, once it has brought more', () => {
    assert.equal(paceOf([0, 0], [500, 500], [550, 700]), 2_000);
  });
  test('slower, when it slows down', () => assert.equal(paceOf([0, 0], [500, 500], [1_500, 600]), 100));
  test('nothing, and not less, when its count is corrected', () =>
    assert.equal(paceOf([0, 0], [500, 500], [1_000, 400]), 0));
  test('told by the time that it takes', () => {
    const pace = new Pace();
    pace.add(0, 0);
    pace.add(1_000, 2_000);
    assert.equal(pace.msFor(500), 250);
    assert.equal(new Pace().msFor(500), Number.POSITIVE_INFINITY);
  });
});

describe('growths take', () => {
  const after = (...times: readonly number[]) => {
    const growthTimes = new GrowthTimes();
    for (const ms of times) growthTimes.add(ms);
    return growthTimes.ms;
  };
  test('some time until one was seen', () => assert.equal(after(), 50));
  test('as long as the first one', () => assert.equal(after(5), 5));
  test('as long as a slow one', () => assert.equal(after(5, 200, 180), 180));
  test('less after many quick ones', () => assert.ok(after(200, ...Array.from({ length: 50 }, () => 2)) <= 2));
  test('no longer than a second', () => assert.equal(after(60_000), 1_000));
});

describe('the most that a model writes in a second is', () => {
  /** Of a model that has written so many outputs of these tokens, each in a second. */
  const most = (count: number, ...tokens: readonly number[]) => {
    const paces = new ModelPaces();
    for (let index = 0; index < count; index++) paces.add('a', tokens[index % tokens.length] ?? 0, 1_000);
    paces.add('b', 1_000_000, 1_000);
    return paces.mostTokensIn('a', 1_000);
  };
  test('assumed while little is known', () => assert.equal(most(0), 300));
  test('no less than assumed until more is known', () => assert.equal(most(19, 499), 300));
  test('more than the fastest of its outputs', () => assert.equal(most(20, 500, 600), 750));
  test('that as soon as one is faster than assumed', () => assert.equal(most(1, 600), 750));
  test('never more than hosts that hide thinking can', () => assert.equal(most(1, 4_000), 1_000));
  test('not known by outputs that are short', () => assert.equal(most(100, 499), 300));
});
