/** The sums of the last minute, against a plain list of what was counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Minute } from '../../../src/state/postgres/minute.ts';

test('the sums are those of this second and the 59 before it, whatever the pauses', () => {
  const pauses = fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 50_000, max: 200_000 }));
  const steps = fc.array(fc.tuple(pauses, fc.nat(9), fc.nat(9_999)), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 90_000 }), steps, (startMs, list) => {
      const minute = new Minute();
      const counted: { second: number; requests: number; tokens: number }[] = [];
      let nowMs = startMs;
      for (const [pauseMs, requests, tokens] of list) {
        nowMs += pauseMs;
        minute.count(nowMs, requests, tokens);
        counted.push({ second: Math.floor(nowMs / 1_000), requests, tokens });
        const last = counted.filter(({ second }) => second > Math.floor(nowMs / 1_000) - 60);
        assert.deepEqual(minute.sums(nowMs), {
          requests: last.reduce((sum, each) => sum + each.requests, 0),
          tokens: last.reduce((sum, each) => sum + each.tokens, 0),
        });
      }
      assert.deepEqual(minute.sums(nowMs + 60_000), { requests: 0, tokens: 0 });
    }),
  );
});
