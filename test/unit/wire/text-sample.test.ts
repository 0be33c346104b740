/**
 * Text samples: the whole text below the limit, as much as fits above it, and the pieces of each
 * text separately.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { TextSample } from '../../../src/wire/text-sample.ts';

const BOUND = 128 * 1024;

function sampleOf(...texts: readonly string[]): TextSample {
  const sample = new TextSample();
  for (const text of texts) sample.add(text);
  return sample;
}

describe('a text sample', () => {
  test('keeps each text unchanged, and does not scale its tokens', () => {
    const sample = sampleOf('one', '', 'zwei für 深い');
    assert.deepEqual(sample.texts, ['one', 'zwei für 深い']);
    assert.equal(sample.bytes, Buffer.byteLength('onezwei für 深い'));
    assert.equal(sample.tokensOfWhole(7), 7);
  });

  test('of no text has no tokens', () => {
    const sample = sampleOf();
    assert.deepEqual([sample.texts, sample.bytes, sample.tokensOfWhole(0)], [[], 0, 0]);
  });

  test('joins the pieces of each text, and never those of different ones, in whatever order they arrive', () => {
    const pieces = fc.array(fc.record({ number: fc.nat({ max: 4 }), text: fc.string({ maxLength: 20 }) }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(pieces, (all) => {
        const sample = new TextSample();
        for (const { number, text } of all) sample.add(text, number);
        const byNumber = Object.values(Object.groupBy(all, ({ number }) => number));
        const joined = byNumber
          .map((own) => (own ?? []).map(({ text }) => text).join(''))
          .filter((text) => text !== '');
        assert.deepEqual(sample.texts.toSorted(), joined.toSorted());
        assert.equal(sample.bytes, Buffer.byteLength(all.map(({ text }) => text).join('')));
      }),
    );
  });

  test('keeps a text exactly as long as the limit, unscaled', () => {
    const sample = sampleOf('x'.repeat(BOUND));
    assert.equal(sample.texts.join('').length, BOUND);
    assert.equal(sample.tokensOfWhole(1_000), 1_000);
  });

  test('keeps no more of a longer text than the limit, and scales its tokens by bytes, rounded up', () => {
    const sample = sampleOf('x'.repeat(BOUND), 'x'.repeat(BOUND / 2));
    assert.equal(sample.texts.join('').length, BOUND);
    assert.equal(sample.tokensOfWhole(1_000), 1_500);
    sample.add('x');
    assert.equal(sample.tokensOfWhole(1_000), 1_501);
  });

  test('of growing texts keeps what arrived first, whichever text it belongs to', () => {
    const sample = new TextSample();
    sample.add('a'.repeat(BOUND - 10), 0);
    sample.add('b'.repeat(30), 1);
    sample.add('c'.repeat(30), 0);
    assert.deepEqual(sample.texts, ['a'.repeat(BOUND - 10), 'b'.repeat(10)]);
    assert.equal(sample.bytes, BOUND + 50);
  });

  test('scales by bytes if characters take several', () => {
    const sample = sampleOf('ж'.repeat(BOUND), 'x'.repeat(BOUND * 2));
    assert.equal(sample.texts.join('').length, BOUND);
    assert.equal(sample.tokensOfWhole(500), 1_000);
  });

  test('estimates unparsed bytes, whatever the token density of the text', () => {
    const sample = sampleOf('!'.repeat(100));
    sample.addUnparsed(380);
    assert.equal(sample.tokensOfWhole(90), 90 + 100);
  });
});
