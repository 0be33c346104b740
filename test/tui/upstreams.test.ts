/** The state of each upstream in words: on the overview, and beside the models of its provider. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SNAPSHOT, screenText, serving } from './samples.ts';

describe('upstreams', () => {
  const upstream = { provider: 'openai', in_flight: 1, requests: 5, failures: 5, last_failure: null, causes: [] };
  const states = [
    ['closed', 0, '●', 'in use', '● openai'],
    ['closed', 4, '▲', '4 failed', '▲ 4 failed'],
    ['closed', 5, '✕', '5 failed', '✕ 5 failed'],
    ['open', 5, '✕', 'circuit open', '✕ circuit open'],
    ['backing_off', 0, '✕', 'backing off', '✕ backing off'],
    ['half_open', 5, '▲', 'half-open', '✕ 5 failed'],
  ] as const;
  for (const [state, failures, sign, overview, models] of states) {
    test(`in state ${state} with ${failures} failures of 5 show as ${sign} ${overview}`, () => {
      const snapshot = { ...SNAPSHOT, upstreams: [{ ...upstream, upstream: 'openai', state, failures }] };
      assert.match(screenText(serving('overview', snapshot)), new RegExp(`${sign} openai +${overview}$`, 'm'));
      assert.match(screenText(serving('models', snapshot)), new RegExp(`openai/gpt-4o-mini .* ${models}$`, 'm'));
    });
  }

  test('that nothing was sent to are not said to be in use', () => {
    const unasked = {
      ...upstream,
      upstream: 'openai',
      state: 'closed',
      requests: 0,
      failures: 0,
      unasked: true,
    } as const;
    const screen = screenText(serving('overview', { ...SNAPSHOT, upstreams: [unasked] }));
    assert.match(screen, /○ openai +never asked$/m);
  });

  test('of which one is not in use show how many are', () => {
    const upstreams = (['open', 'closed'] as const).map((state, i) => ({
      ...upstream,
      upstream: `openai#${i}`,
      state,
    }));
    assert.match(screenText(serving('models', { ...SNAPSHOT, upstreams })), /▲ 1\/2 in use$/m);
  });

  test('that are unavailable for different reasons show that none is in use', () => {
    const upstreams = (['open', 'backing_off'] as const).map((state, i) => ({
      ...upstream,
      upstream: `openai#${i}`,
      state,
    }));
    assert.match(screenText(serving('models', { ...SNAPSHOT, upstreams })), /✕ 0\/2 in use$/m);
  });
});
