/**
 * Pieces of texts: joined they are the text, none is too long, and their tokens are nearly those of
 * the whole.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { piecesOf } from '../../../src/tokens/pieces.ts';
import { anyText } from '../../support/any-text.ts';
import { projectFile } from '../../support/sources.ts';

const MAX_PIECE = 1_000;
/**
 * A cut within a word, or in a script without spaces, may cost a token; with these texts at most
 * 0.15 %.
 */
const MAX_DIFFERENCE = 0.005;
/** Some pieces. Without spaces, the tokenizer takes time by the square of the length of the whole. */
const SAMPLE_CHARACTERS = 6_000;

/** Sentences, repeated until they take many pieces. */
const PROSE: Readonly<Record<string, string>> = {
  English: 'The boats lay side by side as if drawn there; only the gulls, 1,204 of them, went on with their quarrel. ',
  German: 'Die Donaudampfschifffahrtsgesellschaft änderte zum Ärger der Straßenbahnfahrerin ihre Fahrpläne. ',
  French: 'L’été s’achevait à peine que déjà les feuilles tombaient sur les quais déserts, où était-elle allée ? ',
  Russian: 'Ранним утром над рекой поднялся туман, и рыбаки молча вытащили лодки на песчаный берег. ',
  Greek: 'Το πρωί η θάλασσα ήταν ήρεμη και τα παιδιά έτρεχαν ξυπόλητα στην άμμο, ψάχνοντας για κοχύλια. ',
  Arabic: 'في الصباح الباكر كان الميناء هادئا، وكانت القوارب راسية جنبا إلى جنب كأنها رسمت هناك. ',
  Hindi: 'सुबह होते ही नदी के किनारे कोहरा छा गया और मछुआरे चुपचाप अपनी नावें रेत पर खींच लाए। ',
  Chinese: '清晨的港口十分安静，渔船一艘挨着一艘停在岸边，只有海鸥还在不停地争吵，谁也不知道它们为了什么。',
  Japanese: '深い森の中で、小さな川がゆっくりと流れていた。誰もその音を聞いていなかったが、鳥だけは知っていた。',
  Thai: 'ในตอนเช้าตรู่ท่าเรือเงียบสงบและเรือจอดเรียงรายกันอยู่ริมฝั่งราวกับถูกวาดไว้',
  TypeScript: projectFile('src/proxy/pipeline.ts'),
  JSON: JSON.stringify(Array.from({ length: 50 }, (_, id) => ({ id, name: `user${id}`, tags: ['a', 'b', id * 7] }))),
};

const tokensOf = (texts: Iterable<string>) => [...texts].reduce((sum, text) => sum + countTokens(text), 0);

/** Stretches of text with and without breaks, the longest of several pieces. */
const stretches = fc
  .tuple(
    fc.constantFrom('x', 'ж', '字', '😀', '👨‍👩‍👧 ', 'word ', ' ', '\n', '\t\r\n', '\ud83d', '\ude00'),
    fc.nat({ max: 1_500 }),
  )
  .map(([text, times]) => text.repeat(times));
const texts = fc.array(fc.oneof(stretches, anyText(300)), { maxLength: 8 });

describe('the pieces of any text', () => {
  test('are the text when joined, and none is empty or longer than 1,000 characters', () => {
    fc.assert(
      fc.property(texts, (stretch) => {
        const text = stretch.join('');
        const pieces = [...piecesOf(text)];
        assert.equal(pieces.join(''), text);
        for (const { length } of pieces) assert.ok(length > 0 && length <= MAX_PIECE, `a piece of ${length}`);
      }),
      { numRuns: 500 },
    );
  });

  test('are never cut within a character', () => {
    fc.assert(
      fc.property(texts, (stretch) => {
        // A lone surrogate in the text itself stays one in its piece.
        const text = stretch.join('').toWellFormed();
        for (const piece of piecesOf(text)) assert.ok(piece.isWellFormed(), JSON.stringify(piece.slice(-5)));
      }),
      { numRuns: 500 },
    );
  });

  test('end before white space, if there is some near the end of a piece', () => {
    const pieces = [...piecesOf(`${'word '.repeat(1_000)}`)];
    for (const piece of pieces.slice(1)) assert.equal(piece[0], ' ');
  });
});

test('a text that fits into one piece stays whole, and an empty one has no pieces', () => {
  const whole = 'two words'.padEnd(MAX_PIECE, ' and');
  assert.deepEqual([...piecesOf(whole)], [whole]);
  assert.deepEqual([...piecesOf('')], []);
});

describe('the tokens of the pieces are those of the whole, except for one in two hundred, in', () => {
  for (const [language, sentence] of Object.entries(PROSE)) {
    test(language, () => {
      const text = sentence.repeat(Math.ceil(SAMPLE_CHARACTERS / sentence.length));
      const [whole, pieces] = [countTokens(text), tokensOf(piecesOf(text))];
      const difference = Math.abs(pieces - whole) / whole;
      assert.ok(difference <= MAX_DIFFERENCE, `${pieces} instead of ${whole}`);
    });
  }
});

test('a megabyte of text without breaks is counted', () => {
  for (const text of ['x'.repeat(1_000_000), Buffer.alloc(500_000, 'q7Zk').toString('base64').slice(0, 1_000_000)]) {
    const pieces = [...piecesOf(text)];
    assert.ok(pieces.length <= text.length / MAX_PIECE + 1);
    assert.ok(tokensOf(pieces) >= text.length / 10);
  }
});
