/** The counter for text beyond ASCII, against the pattern of o200k_base and a merger that follows its definition. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { piecesOf, Vocabulary } from '../../../scripts/token-weights/vocabulary.ts';
import { countTokens } from '../../../src/wire/byte-pairs.ts';
import { eachPiece } from '../../../src/wire/token-pieces.ts';
import { ALPHABETS, LANGUAGES, languageText, SEAMS } from './token-texts.ts';

const vocabulary = new Vocabulary();
const MERGED_RANKS = 1 << 16;
/** gpt-tokenizer never finds a token that begins with it, so these are not among the merges. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

function cut(text: string): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  eachPiece(bytes, bytes.length, (start, end) => pieces.push(bytes.toString('utf8', start, end)));
  return pieces;
}

function count(text: string): number {
  const bytes = Buffer.from(text);
  return countTokens(bytes, 0, bytes.length);
}

/** Merges the pair of the lowest rank, the first one of several, until no pair is a token. */
function countByDefinition(text: string): number {
  const parts = Array.from(Buffer.from(text).toString('latin1'));
  for (;;) {
    let [lowest, at] = [MERGED_RANKS, -1];
    for (let i = 0; i + 1 < parts.length; i++) {
      const both = `${parts[i]}${parts[i + 1]}`;
      const rank = both.startsWith(BYTE_ORDER_MARK) ? undefined : vocabulary.rank(both);
      if (rank !== undefined && rank < lowest) [lowest, at] = [rank, i];
    }
    if (at < 0) return parts.length;
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
}

const character = fc
  .constantFrom(...ALPHABETS)
  .chain(([first, last]) => fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code)));
const atSeams = fc.constantFrom(...SEAMS, 'A', 'b', 'ǅ', 'ʰ', '漢', '\u0300', '²', '٣', '😀', '𝐀', '!', '-');
const texts = fc.array(fc.oneof(character, atSeams), { maxLength: 12 }).map((parts) => parts.join(''));

test('text is cut where the pattern of the encoding cuts it', () => {
  for (const language of LANGUAGES) assert.deepEqual(cut(languageText(language)), piecesOf(languageText(language)));
  fc.assert(
    fc.property(texts, (text) => {
      assert.deepEqual(
        cut(text),
        piecesOf(text).map((piece) => piece.toWellFormed()),
      );
    }),
    { numRuns: 3_000 },
  );
});

const all = LANGUAGES.map(languageText).join('\n');
const excerpt = fc
  .tuple(fc.nat(all.length), fc.integer({ min: 1, max: 60 }))
  .map(([start, length]) => all.slice(start, start + length));
const ofTwoParts = fc
  .constantFrom(['aa', 'ab'], ['a', 'b'], ['a', '='], ['=', '=='], ['é', 'a'], ['哈', '哈哈'], ['-', '--'])
  .chain((parts) => fc.array(fc.constantFrom(...parts), { minLength: 30, maxLength: 60, size: 'max' }))
  .map((parts) => parts.join(''));

test('short and long pieces have the tokens that merging by rank leaves', () => {
  fc.assert(
    fc.property(fc.oneof(excerpt, ofTwoParts, texts), (text) => {
      assert.equal(count(text), countByDefinition(text));
    }),
    { numRuns: 3_000 },
  );
});

test('a piece longer than the buffers is counted in parts', () => {
  const part = 'あ'.repeat(5_000);
  const ratio = count(part.repeat(20)) / (20 * count(part));
  assert.ok(ratio >= 1 && ratio < 1.01, String(ratio));
});
