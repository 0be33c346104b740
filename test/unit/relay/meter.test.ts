/**
 * The meter: reported usage before counted, the last report before earlier ones, and when a
 * response is complete.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCompletion } from '../../../src/dialects/chat/chat-answer.ts';
import { Meter, type Metered } from '../../../src/relay/meter.ts';

const INPUT = 50;
const FIVE = ' one two three four five';
const TEN = FIVE + FIVE;
const USAGE = { prompt_tokens: 9, completion_tokens: 4 };

const piece = (content: string, finish_reason: string | null = null, index = 0) => ({
  choices: [{ index, delta: { content }, finish_reason }],
});

/** What the meter has read after these chunks. */
function metered(chunks: readonly object[], unread = 0): { figures: Metered; complete: boolean } {
  const meter = new Meter(INPUT);
  for (const chunk of chunks) meter.read(readCompletion(chunk as Record<string, unknown>));
  if (unread > 0) meter.readUnparsed(unread);
  return { figures: meter.figures(), complete: meter.complete };
}

const ROWS: readonly {
  what: string;
  chunks: readonly object[];
  tokens: readonly [input: number, output: number];
  source: 'reported' | 'counted';
}[] = [
  { what: 'nothing, when nothing came', chunks: [], tokens: [INPUT, 1], source: 'counted' },
  {
    what: 'the tokens of the text that came, by the estimate',
    chunks: [piece(' one two three four five six'), piece(' seven eight nine ten')],
    tokens: [INPUT, 10],
    source: 'counted',
  },
  {
    what: 'a report at the end',
    chunks: [piece('xxxx'), { choices: [], usage: USAGE }],
    tokens: [9, 4],
    source: 'reported',
  },
  {
    what: 'the last of several reports',
    chunks: [
      { ...piece('x'), usage: { prompt_tokens: 9, completion_tokens: 1 } },
      { ...piece('x'), usage: USAGE },
      { choices: [], usage: null },
    ],
    tokens: [9, 4],
    source: 'reported',
  },
  {
    what: 'the estimate, where the report cannot be used',
    chunks: [{ ...piece(TEN), usage: { prompt_tokens: -1, completion_tokens: 4 } }],
    tokens: [INPUT, 10],
    source: 'counted',
  },
  {
    what: 'a good report before a later one that cannot be used',
    chunks: [
      { ...piece('x'), usage: USAGE },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } },
    ],
    tokens: [9, 4],
    source: 'reported',
  },
  {
    what: 'the bytes of thinking that is encrypted',
    chunks: [piece(FIVE), { choices: [{ index: 0, delta: { reasoning_details: [{ data: 'S'.repeat(25) }] } }] }],
    tokens: [INPUT, 23],
    source: 'counted',
  },
  {
    what: 'the duration of what it says',
    chunks: [piece(FIVE), { choices: [{ index: 0, delta: { audio: { data: 'A'.repeat(3_200 * 5) } } }] }],
    tokens: [INPUT, 10],
    source: 'counted',
  },
  {
    what: 'the estimate of all choices',
    chunks: [piece(FIVE, null, 0), piece(FIVE, null, 1)],
    tokens: [INPUT, 10],
    source: 'counted',
  },
];

describe('a request is metered by', () => {
  for (const { what, chunks, tokens, source } of ROWS) {
    test(what, () => {
      const { usage, source: from } = metered(chunks).figures;
      assert.deepEqual([usage.promptTokens, usage.completionTokens], tokens);
      assert.equal(from, source);
    });
  }

  test('bytes that were relayed unparsed', () => {
    assert.equal(metered([piece(FIVE)], 19).figures.usage.completionTokens, 10);
  });
});

const PROGRESS: readonly (readonly [what: string, chunks: readonly object[], complete: boolean])[] = [
  ['nothing was read', [], false],
  ['there is text and no finish reason', [piece('x')], false],
  ['the only choice has finished', [piece('x'), piece('', 'stop')], true],
  ['one of two choices has finished', [piece('x', null, 0), piece('x', null, 1), piece('', 'stop', 0)], false],
  [
    'both of two choices have finished',
    [piece('x', null, 0), piece('x', null, 1), piece('', 'stop', 1), piece('', 'length', 0)],
    true,
  ],
  ['the finish reason is in the first chunk', [piece('x', 'stop')], true],
  ['a choice continues after its finish reason', [piece('', 'stop'), piece('x')], false],
];

describe('whether a response is complete if', () => {
  for (const [what, chunks, complete] of PROGRESS) {
    test(`${what}: ${complete}`, () => assert.equal(metered(chunks).complete, complete));
  }
});

describe('there is more of an answer with', () => {
  const ADVANCING: readonly (readonly [what: string, advances: boolean, ...chunks: readonly object[]])[] = [
    ['text', true, piece('a')],
    ['the end of a choice', true, piece('', 'stop')],
    ['a report of output', true, { choices: [], usage: USAGE }],
    ['an empty text', false, piece('')],
    ['no choices', false, { choices: [] }],
    ['the end of a choice that has ended', false, piece('', 'stop'), piece('', 'stop')],
    ['the same report', false, { choices: [], usage: USAGE }, { choices: [], usage: USAGE }],
  ];
  for (const [what, advances, ...chunks] of ADVANCING) {
    test(`${what}: ${advances}`, () => {
      const meter = new Meter(INPUT);
      const advanced = chunks.map((chunk) => {
        const before = meter.advances;
        meter.read(readCompletion(chunk as Record<string, unknown>));
        return meter.advances > before;
      });
      assert.equal(advanced.at(-1), advances);
    });
  }
});
