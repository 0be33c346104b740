/**
 * The meter: reported usage before counted, the last report before earlier ones, and when a
 * response is complete.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHAT } from '../../../src/dialects/chat/chat.ts';
import { readCompletion } from '../../../src/dialects/chat/chat-answer.ts';
import { CONVERSE } from '../../../src/dialects/converse/converse.ts';
import type { Dialect } from '../../../src/dialects/dialect.ts';
import { GEMINI } from '../../../src/dialects/gemini/gemini.ts';
import { MESSAGES } from '../../../src/dialects/messages/messages.ts';
import { RESPONSES } from '../../../src/dialects/responses/responses.ts';
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
    what: 'the output of the last report that says something of it',
    chunks: [
      { ...piece('x'), usage: USAGE },
      { choices: [], usage: { prompt_tokens: 10 } },
    ],
    tokens: [10, 4],
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
    what: 'the estimate, where the last of several reports says nothing of the output',
    chunks: [piece(TEN, 'stop'), { choices: [], usage: { prompt_tokens: 90, total_tokens: 90 } }],
    tokens: [90, 10],
    source: 'counted',
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

/** Whole answers with ten tokens of text, and a report of their input with three tokens from a cache. */
const WITHOUT_OUTPUT: readonly {
  title: string;
  readAnswer: Dialect['readAnswer'];
  answer: object;
  report: (more: object) => object;
  /** The field that says it. */
  output: string;
}[] = [
  {
    ...CHAT,
    answer: { choices: [{ message: { content: TEN }, finish_reason: 'stop' }] },
    report: (more) => ({
      usage: { prompt_tokens: 90, total_tokens: 90, prompt_tokens_details: { cached_tokens: 3 }, ...more },
    }),
    output: 'completion_tokens',
  },
  {
    ...MESSAGES,
    answer: { content: [{ type: 'text', text: TEN }], stop_reason: 'end_turn' },
    report: (more) => ({ usage: { input_tokens: 90, cache_read_input_tokens: 3, ...more } }),
    output: 'output_tokens',
  },
  {
    ...RESPONSES,
    answer: {
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: TEN }] }],
    },
    report: (more) => ({ usage: { input_tokens: 90, input_tokens_details: { cached_tokens: 3 }, ...more } }),
    output: 'output_tokens',
  },
  {
    ...CONVERSE,
    answer: { output: { message: { content: [{ text: TEN }] } }, stopReason: 'end_turn' },
    report: (more) => ({ usage: { inputTokens: 90, cacheReadInputTokens: 3, ...more } }),
    output: 'outputTokens',
  },
  {
    ...GEMINI,
    answer: { candidates: [{ content: { parts: [{ text: TEN }] }, finishReason: 'STOP' }] },
    report: (more) => ({ usageMetadata: { promptTokenCount: 90, cachedContentTokenCount: 3, ...more } }),
    output: 'candidatesTokenCount',
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

  for (const { title, readAnswer, answer, report, output } of WITHOUT_OUTPUT) {
    const figuresOf = (more: object = {}) => {
      const meter = new Meter(INPUT);
      meter.readWhole(readAnswer({ ...answer, ...report(more) }));
      const { usage, source } = meter.figures();
      return [usage.completionTokens, usage.cachedTokens, source];
    };

    test(`the estimate of the output, where a report of ${title} is of the input alone`, () => {
      assert.deepEqual(figuresOf(), [10, 3, 'counted']);
      assert.deepEqual(figuresOf({ [output]: null }), [10, 3, 'counted']);
    });

    test(`a report of ${title} that there was no output`, () => {
      assert.deepEqual(figuresOf({ [output]: 0 }), [0, 3, 'reported']);
    });
  }

  test("the estimate of the output, where Google's report says alone that nothing was thought", () => {
    const meter = new Meter(INPUT);
    const content = { parts: [{ text: TEN }] };
    const usageMetadata = { promptTokenCount: 90, thoughtsTokenCount: 0, totalTokenCount: 90 };
    meter.readWhole(GEMINI.readAnswer({ candidates: [{ content, finishReason: 'STOP' }], usageMetadata }));
    const { usage, source } = meter.figures();
    assert.deepEqual([usage.completionTokens, source], [10, 'counted']);
  });

  test('a report of the input alone, where nothing was written', () => {
    const report = { choices: [], usage: { prompt_tokens: 9, total_tokens: 9 } };
    const { usage, source } = metered([piece('', 'stop'), report]).figures;
    assert.deepEqual([usage.promptTokens, usage.completionTokens, source], [9, 0, 'reported']);
  });

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
