/** Field names that differ from known ones by letter case alone, as hosts written in Go would read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCaseVariant, foldCase } from '../../../src/wire/names.ts';
import { checked } from '../dialects/chat/chat.ts';

const FOLDED: readonly (readonly [name: string, folded: string])[] = [
  ['model', 'model'],
  ['Model', 'model'],
  ['MAX_TOKENS', 'max_tokens'],
  ['\u017ftream', 'stream'],
  ['max_to\u212aens', 'max_tokens'],
  ['me\u00dfages', 'me\u00dfages'],
  ['Σ', 'σ'],
  ['ς', 'σ'],
  ['', ''],
];

describe('a folded name', () => {
  for (const [name, folded] of FOLDED) test(JSON.stringify(name), () => assert.equal(foldCase(name), folded));
});

test('a name that is known as it is written is no variant, nor is one that resembles none', () => {
  const known = new Set(['model', 'n']);
  assert.equal(findCaseVariant(['model', 'n', 'user', 'Metadata', 'models'], known), undefined);
  assert.deepEqual(findCaseVariant(['user', 'N', 'Model'], known), { name: 'N', resembles: 'n' });
});

test('of known names that differ by letter case alone, a variant resembles the first', () => {
  const known = new Set(['topK', 'TOPK']);
  assert.deepEqual(findCaseVariant(['topk'], known), { name: 'topk', resembles: 'topK' });
  assert.equal(findCaseVariant(['TOPK'], known), undefined);
});

const BODY = { model: 'p/cheap', messages: [{ role: 'user', content: 'hi' }] };

/** Fields that a host may read in place of the ones that were checked, and how the problem begins. */
const VARIANTS: readonly (readonly [fields: object, problem: RegExp])[] = [
  [{ Model: 'p/dear' }, /^Model: differs from model only by letter case/],
  [{ MESSAGES: [] }, /^MESSAGES: differs from messages/],
  [{ Stream: true }, /^Stream: /],
  [{ '\u017ftream': true }, /: differs from stream only/],
  [{ 'max_to\u212aens': 9 }, /: differs from max_tokens only/],
  [{ Max_Completion_Tokens: 9 }, /: differs from max_completion_tokens only/],
  [{ N: 100 }, /^N: differs from n only/],
  [{ Tools: [] }, /^Tools: /],
  [{ Functions: [] }, /^Functions: /],
  [{ Service_Tier: 'priority' }, /^Service_Tier: /],
  [
    { stream: true, stream_options: { Include_Usage: false } },
    /^stream_options\.Include_Usage: differs from stream_options\.include_usage/,
  ],
];

describe('a request is refused for', () => {
  for (const [fields, problem] of VARIANTS) {
    test(JSON.stringify(fields), () => {
      const result = checked(JSON.stringify({ ...BODY, ...fields }));
      assert.match(result.ok ? 'it is valid' : result.problem, problem);
    });
  }

  test('no field that the gateway does not act on', () => {
    const fields = { User: 'u', METADATA: {}, stream: true, stream_options: { Include_Obfuscation: true } };
    assert.ok(checked(JSON.stringify({ ...BODY, ...fields })).ok);
  });
});
