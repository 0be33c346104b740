/**
 * Text samples: the whole text below the limit, blocks from all over it above, and the pieces of
 * each text separately.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { piecesOf } from '../../../src/tokens/pieces.ts';
import { TextSample } from '../../../src/wire/text-sample.ts';
import { estimateTokensOf } from '../../../src/wire/token-estimate.ts';
import { Random } from '../../support/random.ts';

const BOUND = 96 * 1024;

function sampleOf(...texts: readonly string[]): TextSample {
  const sample = new TextSample();
  for (const text of texts) sample.add(text);
  return sample;
}

/** A sample of one text that arrived in pieces of this length. */
function inPieces(text: string, length: number): TextSample {
  const sample = new TextSample();
  for (let at = 0; at < text.length; at += length) sample.add(text.slice(at, at + length), 0);
  return sample;
}

const kept = (sample: TextSample) => sample.sample().texts.reduce((sum, text) => sum + text.length, 0);

/** In pieces: the tokenizer takes quadratic time on blanks. */
function tokensIn(text: string): number {
  return [...piecesOf(text)].reduce((sum, piece) => sum + countTokens(piece), 0);
}

/** The tokens of the whole, from those of the sample. */
function counted(sample: TextSample): number {
  const { texts, factors } = sample.sample();
  return sample.tokensOfWhole(texts.reduce((sum, text, i) => sum + (factors[i] as number) * tokensIn(text), 0));
}

describe('a text sample', () => {
  test('keeps each text unchanged, and does not scale its tokens', () => {
    const sample = sampleOf('one', '', 'zwei für 深い');
    assert.deepEqual(sample.sample(), { texts: ['one', 'zwei für 深い'], factors: [1, 1] });
    assert.equal(sample.tokens, estimateTokensOf(['one', 'zwei für 深い']));
    assert.equal(sample.tokensOfWhole(7), 7);
  });

  test('of no text has no tokens', () => {
    const sample = sampleOf();
    assert.deepEqual([sample.sample().texts, sample.tokens, sample.tokensOfWhole(0)], [[], 0, 0]);
  });

  test('joins the pieces of each text, and never those of different ones, in whatever order they arrive', () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 20, unit: 'grapheme' }),
      fc.string({ minLength: 200, maxLength: 900 }),
    );
    const pieces = fc.array(fc.record({ number: fc.nat({ max: 4 }), text: piece }), { maxLength: 60 });
    fc.assert(
      fc.property(pieces, (all) => {
        const sample = new TextSample();
        for (const { number, text } of all) sample.add(text, number);
        const byNumber = Object.values(Object.groupBy(all, ({ number }) => number));
        const joined = byNumber
          .map((own) => (own ?? []).map(({ text }) => text).join(''))
          .filter((text) => text !== '');
        assert.deepEqual(sample.sample().texts.toSorted(), joined.toSorted());
      }),
    );
  });

  test('keeps a text exactly as long as the limit, whole', () => {
    const sample = sampleOf('x'.repeat(BOUND));
    assert.deepEqual(sample.sample(), { texts: ['x'.repeat(BOUND)], factors: [1] });
  });

  test('keeps no more of a longer text than the limit, and at least half of that', () => {
    for (const length of [BOUND + 1, 3 * BOUND, 20 * BOUND + 77]) {
      for (const sample of [sampleOf('x'.repeat(length)), inPieces('x'.repeat(length), 1_001)]) {
        assert.ok(kept(sample) <= BOUND + 256 && kept(sample) >= BOUND / 4 - 512, `${kept(sample)} of ${length}`);
        const { texts, factors } = sample.sample();
        const stoodFor = texts.reduce((sum, text, i) => sum + text.length * (factors[i] as number), 0);
        assert.ok(Math.abs(stoodFor - length) < 1e-6 * length);
      }
    }
  });

  const random = new Random(7);
  const ideographs = Array.from({ length: 6_000 }, () => String.fromCharCode(random.between(0x4e00, 0x9fa5))).join('');
  const prose = 'It was the best of times, it was the worst of times. '.repeat(4_000);
  const LONG: readonly (readonly [name: string, text: string])[] = [
    ['300,000 blanks before dense text', ' '.repeat(300_000) + ideographs],
    ['dense text before 300,000 blanks', ideographs + ' '.repeat(300_000)],
    ['dense text among prose', prose + ideographs + prose],
    ['prose alone', prose.repeat(3)],
  ];
  for (const [name, text] of LONG) {
    test(`of ${name} gives its tokens within a few percent, however it arrives`, () => {
      const exact = tokensIn(text);
      for (const sample of [sampleOf(text), inPieces(text, 5), inPieces(text, 10_000)]) {
        const tokens = counted(sample);
        assert.ok(tokens > 0.97 * exact && tokens < 1.1 * exact, `${tokens} for ${exact}`);
      }
    });
  }

  test('estimates unparsed bytes, whatever the token density of the text', () => {
    const sample = sampleOf('!'.repeat(100));
    sample.addUnparsed(380);
    assert.equal(sample.tokensOfWhole(90), 90 + 100);
  });

  test('of more growing texts than a request has choices stays bounded', () => {
    const sample = new TextSample();
    for (let number = 0; number < 100_000; number++) sample.add('words ', number);
    assert.ok(kept(sample) <= BOUND + 256);
    assert.ok(counted(sample) >= 100_000);
  });
});
