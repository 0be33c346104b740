/** The estimate of tokens against the count of o200k_base: never much too low, and close for running text, code and JSON. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { estimateTokens, estimateTokensOf } from '../../../src/wire/token-estimate.ts';
import { ALPHABETS, LANGUAGES, languageText, ratioOf, SEAMS, sampleText, tokensOf } from './token-texts.ts';

const LEAST = 0.9;
const MOST = 1.3;
const MOST_FOR_LANGUAGES = 1.5;

function assertReached(text: string): void {
  const [estimate, tokens] = [estimateTokens(text), tokensOf(text)];
  assert.ok(
    estimate >= LEAST * tokens,
    `estimated ${estimate} of ${tokens} tokens: ${JSON.stringify(text.slice(0, 80))}`,
  );
}

const character = fc
  .constantFrom(...ALPHABETS)
  .chain(([first, last]) => fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code)));
const ofOneAlphabet = fc
  .constantFrom(...ALPHABETS)
  .chain(([first, last]) =>
    fc
      .array(fc.integer({ min: first, max: last }), { minLength: 1, maxLength: 40 })
      .map((codes) => String.fromCodePoint(...codes)),
  );
const ofFewLetters = fc
  .array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), { minLength: 2, maxLength: 5 })
  .chain((letters) =>
    fc.array(fc.constantFrom(...letters), { minLength: 3, maxLength: 30 }).map((all) => all.join('')),
  );
const word = fc.constantFrom(...sampleText('essay').split(/\s+/), ...sampleText('code').split(/\s+/));
const cased = word.chain((each) => fc.constantFrom(each, each.toUpperCase(), each.toLowerCase(), `${each}${each}`));
const piece = fc.oneof(character, cased, fc.constantFrom(...SEAMS), ofFewLetters);
const ofPieces = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));
const repeated = fc.tuple(ofPieces, fc.integer({ min: 2, max: 30 })).map(([text, times]) => text.repeat(times));

for (const [name, texts] of Object.entries({ ofOneAlphabet, ofFewLetters, ofPieces, repeated })) {
  test(`no text at random is estimated below ${LEAST} of its tokens: ${name}`, () => {
    fc.assert(fc.property(texts, assertReached), { numRuns: 1_000 });
  });
}

const NASTY: Readonly<Record<string, string>> = {
  'digits by themselves': '1 2 3 4 5 6 7 8 9 '.repeat(40),
  'digits in one run': '31415926535897932384626433832795'.repeat(20),
  'digits of other scripts between digits': '²²111'.repeat(50),
  'signs that no run has': '~^}{`|\\;~@$%&^*]['.repeat(30),
  'letters that never meet': 'qxjzvkwq'.repeat(60),
  'capitals that never meet': 'QXJZVKWQ JIYIYB '.repeat(40),
  'capitals by turns': 'aBcDeFgHiJkL'.repeat(40),
  'words cut by contractions': "a'should've'still".repeat(40),
  'words cut by contractions after a letter with an accent': "é'Venus".repeat(40),
  'a sign that belongs to the one before it': '\u200d_at\u2011.w'.repeat(60),
  'the name of a special token': '<|endoftext|>'.repeat(40),
  base64: 'kJ8fQz3xV0pLmN7rT2wYbC5dEhG9sAuI1oX4vZ6q'.repeat(20),
  'blanks of all kinds': ' \t\n\r\v\f\u00a0\u3000\r\r\n\t '.repeat(40),
  'form feeds': '\f'.repeat(200),
  'line ends of two signs': '\r\n'.repeat(500),
  'zero-width joiners': '\u200d\u200b\u2060'.repeat(60),
  'byte order marks': '\ufeff'.repeat(100),
  'a space before each letter of Gujarati': ' \u0ac8'.repeat(60),
  'rare ideographs': '龘靐齉爩鱻麤龗灪'.repeat(30),
  'ideographs after spaces': ' 噜 燃 體 殖'.repeat(40),
  'digits after a digit of two units': 'v𖩠000'.repeat(40),
  'ideographs beyond the first plane': '\u{20000}\u{2a6d6}\u{2f81a}'.repeat(40),
  'syllables of Hangul that no word has': '뷁쮉쀍뙗'.repeat(40),
  'families of emoji': '👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚀'.repeat(20),
  'halves of characters': '\ud800\udc00\udfff\ud83d'.repeat(40),
  'accents upon accents': 'a\u0301\u0323\u0302\u0334'.repeat(40),
  'private use': '\ue000\uf8ff\u{f0000}'.repeat(40),
  controls: '\u0001\u0002\u0007\u001b\u007f'.repeat(40),
};

test('no text made to be underestimated is', () => {
  for (const [name, text] of Object.entries(NASTY)) {
    const ratio = ratioOf(text);
    assert.ok(ratio >= LEAST, `${name}: ${ratio}`);
  }
});

test(`English, code and JSON are estimated at ${LEAST} to ${MOST} of their tokens`, () => {
  const own = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const texts: Record<string, string> = {
    essay: sampleText('essay'),
    answer: sampleText('answer'),
    code: sampleText('code'),
    tools: sampleText('tools'),
    readme: own('README.md'),
    licence: own('LICENSE'),
    'a source file': own('src/dialects/input.ts'),
    'package.json': own('package.json'),
  };
  for (const [name, text] of Object.entries(texts)) {
    const ratio = ratioOf(text);
    assert.ok(ratio >= LEAST && ratio <= MOST, `${name}: ${ratio}`);
  }
});

for (const language of LANGUAGES) {
  test(`running text in ${language} is estimated at ${LEAST} to ${MOST_FOR_LANGUAGES} of its tokens`, () => {
    const ratio = ratioOf(languageText(language));
    assert.ok(ratio >= LEAST && ratio <= MOST_FOR_LANGUAGES, String(ratio));
  });
}

test('text in one language is estimated alike with a word of another alphabet in it', () => {
  for (const language of LANGUAGES) {
    const text = languageText(language);
    const ratio = ratioOf(`${text} Straße, 東京 и Київ. ${text}`);
    assert.ok(ratio >= LEAST && ratio <= MOST_FOR_LANGUAGES, `${language}: ${ratio}`);
  }
});

test('a short text is rounded up, and an empty one has no tokens', () => {
  assert.equal(estimateTokens(''), 0);
  assert.equal(estimateTokens('a'), 1);
  assert.equal(estimateTokens('Hello, world'), 3);
});

test('several texts are added up before they are rounded', () => {
  const texts = ['wexarp', 'qorvint', 'zelbum'];
  const each = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  const together = estimateTokensOf(texts);
  assert.ok(together <= each && together >= each - 2, `${together} of ${each}`);
});

test('a text longer than what is weighed at once is estimated like its parts', () => {
  const part = sampleText('essay');
  const ratio = estimateTokens(part.repeat(60)) / (60 * estimateTokens(part));
  assert.ok(ratio > 0.99 && ratio < 1.01, String(ratio));
});
