/** The text of custom tools, read from arguments that come in pieces. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomInputReader } from '../../../src/translate/custom-input.ts';

/** The text as it comes, and what is left at its end. */
function read(pieces: readonly string[]): readonly [text: string, rest: string] {
  const reader = new CustomInputReader();
  return [pieces.map((piece) => reader.push(piece)).join(''), reader.end()];
}

const ARGUMENTS: readonly (readonly [json: string, text: string, rest: string])[] = [
  ['{"input":"a\\n\\u00e9\\"b"}', 'a\né"b', ''],
  [' {\n"input"\t: "x" } ', 'x', ''],
  ['{"input":""}', '', ''],
  ['{"input":"x","more":"y"}', 'x', ''],
  ['{"input":"\\ud83d\\ude00"}', '😀', ''],
  ['{"in put":"x"}', '', '{"in put":"x"}'],
  ['{"input":1}', '', '{"input":1}'],
  ['{"a":1,"input":"x"}', '', 'x'],
  ['{}', '', '{}'],
  ['not JSON', '', 'not JSON'],
  ['', '', ''],
];

describe('the text of', () => {
  for (const [json, ...expected] of ARGUMENTS) {
    test(JSON.stringify(json), () => {
      assert.deepEqual(read([json]), expected);
      assert.deepEqual(read([...json]), expected, 'in pieces of a character');
    });
  }
});

describe('200,000 pieces are each read once: from the beginning each time, they would take minutes:', () => {
  const MORE = Array.from({ length: 200_000 }, () => '        ');
  for (const [name, first, ...expected] of [
    ['other arguments', '{"other":"', '', `{"other":"${MORE.join('')}`],
    ['white space', '', '', MORE.join('')],
    ['after the closing quote', '{"input":"x"', 'x', ''],
    ['the text itself', '{"input":"', MORE.join(''), ''],
  ] as const) {
    test(name, () => assert.deepEqual(read([first, ...MORE]), expected));
  }
});
