/** The first stream after a start gets what its money pays for, in any language. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { LANGUAGES, LEAST_SHARE, shareOfFirst } from './first-cut.ts';

/** Slow enough for a busy machine: the tokenizer has eight seconds to load, and more for English. */
const SLOW = { tokensPerSecond: 50, paidTokens: 700, defaultOutput: 512 };

describe('the first stream after a start is cut where its money ends', { concurrency: true }, () => {
  for (const language of LANGUAGES) {
    test(`in ${language}`, async () => {
      const share = await shareOfFirst({ after }, { language, ...SLOW });
      assert.ok(share >= LEAST_SHARE && share <= 1, `it got ${share.toFixed(3)} of what its money pays for`);
    });
  }
});
