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

describe('reading 200,000 pieces takes no longer than their length says:', () => {
  for (const [name, first, piece] of [
    ['other arguments', '{"other":"', 'xxxxxxxx'],
    ['white space', '', '        '],
    ['after the closing quote', '{"input":"x"', ' '],
    ['the text itself', '{"input":"', 'xxxxxxxx'],
  ] as const) {
    test(name, () => {
      const start = process.cpuUsage();
      read([first, ...Array.from({ length: 200_000 }, () => piece)]);
      // Not the time on the clock, of which a busy machine takes any amount.
      const { user } = process.cpuUsage(start);
      assert.ok(user < 2_000_000, `it took ${user / 1_000} ms`);
    });
  }
});
