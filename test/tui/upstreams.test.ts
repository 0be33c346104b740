/** How each upstream is regarded, in words: on the overview, and beside the models of its provider. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SNAPSHOT, screenText, serving } from './samples.ts';

describe('upstreams', () => {
  const upstream = { provider: 'openai', in_flight: 1, requests: 5, failures: 5, last_failure: null };
  const states = [
    ['closed', 0, 'in use', '● openai'],
    ['closed', 5, '5 failed', '● 5 failed'],
    ['open', 5, 'left alone', '● left alone'],
    ['backing_off', 0, 'left alone', '● left alone'],
    ['half_open', 5, 'on trial', '● 5 failed'],
  ] as const;
  for (const [state, failures, overview, models] of states) {
    test(`that are ${state} with ${failures} failures are said to be ${overview}`, () => {
      const snapshot = { ...SNAPSHOT, upstreams: [{ ...upstream, upstream: 'openai', state, failures }] };
      assert.match(screenText(serving('overview', snapshot)), new RegExp(`● openai +5/min +${overview}    1$`, 'm'));
      assert.match(screenText(serving('models', snapshot)), new RegExp(`openai/gpt-4o-mini .* ${models}$`, 'm'));
    });
  }

  test('of which one is left alone count as those in use', () => {
    const upstreams = (['open', 'closed'] as const).map((state, i) => ({
      ...upstream,
      upstream: `openai#${i}`,
      state,
    }));
    assert.match(screenText(serving('models', { ...SNAPSHOT, upstreams })), /● 1\/2 in use$/m);
  });
});
