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

describe('the images of an answer', () => {
  const TOKENS_PER_IMAGE = 1_000;
  const image = { type: 'image_url', image_url: { url: 'data:,' } };
  const answer = (images: number, usage?: object) => ({
    choices: [{ index: 0, message: { content: FIVE, images: Array(images).fill(image) }, finish_reason: 'stop' }],
    usage,
  });
  const delta = (fields: object, usage?: object) => ({ choices: [{ index: 0, delta: fields }], usage });
  const report = (output: number, images?: number) => ({
    prompt_tokens: 9,
    completion_tokens: output,
    completion_tokens_details: { image_tokens: images },
  });

  function read(chunks: readonly object[], { whole = false, tokensPerImage = TOKENS_PER_IMAGE } = {}) {
    const meter = new Meter(INPUT);
    meter.begin({ inputTokens: INPUT, bytesPerAudioToken: 100, tokensPerImage });
    for (const chunk of chunks) {
      const facts = readCompletion(chunk as Record<string, unknown>);
      if (whole) meter.readWhole(facts);
      else meter.read(facts);
    }
    return meter;
  }
  const shown = ({ usage: { completionTokens, parts }, source, isWhole }: Metered) => [
    completionTokens,
    parts?.imageOutputTokens ?? 0,
    source,
    isWhole,
  ];

  const WHOLE: readonly (readonly [what: string, answer: object, ...figures: ReturnType<typeof shown>])[] = [
    ['are as reported', answer(1, report(700, 690)), 700, 690, 'reported', true],
    ['are counted without a report', answer(2), 2_005, 2_000, 'counted', true],
    ['are of the reported tokens where those are not told apart', answer(1, report(700)), 700, 700, 'reported', true],
    [
      'are no more than counted where tokens are not told apart',
      answer(1, report(1_700)),
      1_700,
      1_000,
      'reported',
      true,
    ],
    [
      'are counted beside a report that is too small to hold them',
      answer(2, report(399)),
      2_399,
      2_000,
      'counted',
      true,
    ],
    ['are none where there are none', answer(0, report(5)), 5, 0, 'reported', true],
  ];
  for (const [what, whole, ...figures] of WHOLE) {
    test(`${what}, in a whole answer`, () => {
      assert.deepEqual(shown(read([whole], { whole: true }).figures()), figures);
    });
  }

  test('of a stream that is cut are those of its report, and those that came after it', () => {
    const covered = read([delta({ images: [image] }, report(700, 690))]);
    assert.deepEqual(shown(covered.figuresOfPart()), [700, 690, 'reported', false]);
    const more = read([delta({ images: [image] }, report(700, 690)), delta({ images: [image] })]);
    assert.deepEqual(shown(more.figuresOfPart()), [1_690, 1_690, 'counted', false]);
  });

  test('of a tool are not counted', () => {
    assert.deepEqual(shown(read([answer(1)], { whole: true, tokensPerImage: 0 }).figures()), [5, 0, 'counted', true]);
  });

  test('weigh as many tokens of text as their price says', () => {
    const scale = { audioWeight: 1, imageWeight: 10, excessTokens: 0 };
    assert.equal(read([delta({ content: FIVE, images: [image] })]).outputTokens(scale), 5 + 10 * 1_000);
    assert.equal(read([delta({ content: FIVE }, report(700, 690))]).outputTokens(scale), 10 + 10 * 690);
  });

  const base64 = 'AAAA';
  const ANSWERS: readonly { readonly dialect: Dialect; readonly answer: Record<string, unknown> }[] = [
    { dialect: CHAT, answer: answer(1) },
    { dialect: CHAT, answer: { choices: [{ message: { content: [{ type: 'text', text: FIVE }, image] } }] } },
    {
      dialect: GEMINI,
      answer: {
        candidates: [{ content: { parts: [{ text: FIVE }, { inlineData: { mimeType: 'image/png', data: base64 } }] } }],
      },
    },
    {
      dialect: RESPONSES,
      answer: {
        output: [
          { type: 'message', content: [{ type: 'output_text', text: FIVE }] },
          { type: 'image_generation_call', result: base64 },
        ],
      },
    },
    {
      dialect: MESSAGES,
      answer: {
        content: [
          { type: 'text', text: FIVE },
          { type: 'image', source: {} },
        ],
      },
    },
    {
      dialect: CONVERSE,
      answer: { output: { message: { content: [{ text: FIVE }, { image: { source: { bytes: base64 } } }] } } },
    },
  ];
  for (const [index, { dialect, answer }] of ANSWERS.entries()) {
    test(`are counted in ${dialect.title} (${index + 1})`, () => {
      const progress = dialect.readAnswer(answer).progress;
      assert.deepEqual(
        progress.map(({ written, images }) => [written.join(''), images]),
        [[FIVE, 1]],
      );
    });
  }

  const judged = (dialect: Dialect, events: readonly object[]) => {
    const stream = dialect.startStream('req_1');
    const facts = events.flatMap((event) => {
      const data = JSON.stringify(event);
      const read = stream.judge({ bytes: Buffer.from(''), data, name: undefined, complete: true });
      return ('facts' in read ? read.facts?.progress : undefined) ?? [];
    });
    return facts.reduce((sum, { images }) => sum + images, 0);
  };

  test('count once in a stream of Converse, in however many pieces they come', () => {
    const start = { contentBlockStart: { contentBlockIndex: 0, start: { image: { format: 'png' } } } };
    const piece = { contentBlockDelta: { contentBlockIndex: 0, delta: { image: { source: { bytes: base64 } } } } };
    assert.equal(judged(CONVERSE, [start, piece, piece]), 1);
    assert.equal(judged(CONVERSE, [piece, piece]), 1);
    assert.equal(judged(CONVERSE, [start, piece, start, piece]), 2);
  });

  test('count once in a stream of responses, when their item is done', () => {
    const item = { type: 'image_generation_call', id: 'ig_1', result: base64 };
    const events = ['response.output_item.added', 'response.output_item.done'].map((type) => ({
      type,
      output_index: 0,
      item: type.endsWith('.done') ? item : { ...item, result: null },
    }));
    assert.equal(judged(RESPONSES, events), 1);
  });
});
