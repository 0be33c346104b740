/** What is read of an answer: its usage in every spelling, its choices, and the bytes that the model wrote. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_REPORTED_TOKENS } from '../../../src/core/usage.ts';
import { type CompletionFacts, readCompletion, readUsage } from '../../../src/wire/completion.ts';

/** Usage as a host reports it, and the tokens in, of them cached, and out; undefined where it cannot be used. */
const USAGE: readonly (readonly [
  what: string,
  usage: unknown,
  tokens: readonly [number, number, number] | undefined,
])[] = [
  ['plain', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }, [9, 0, 4]],
  ['without a total', { prompt_tokens: 9, completion_tokens: 4 }, [9, 0, 4]],
  ['with nothing put out', { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 }, [9, 0, 0]],
  ['with no word of output', { prompt_tokens: 9, total_tokens: 9 }, [9, 0, 0]],
  ['with reasoning in the total alone', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 113 }, [9, 0, 104]],
  ['with output in the total alone', { prompt_tokens: 9, total_tokens: 20 }, [9, 0, 11]],
  ['with a total that is too small', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 5 }, [9, 0, 4]],
  ['with a total that is no number', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 'x' }, [9, 0, 4]],
  [
    'with cached tokens',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
    [9, 5, 4],
  ],
  [
    'with more cached than there are',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 50 } },
    [9, 9, 4],
  ],
  [
    'with a cached count that is none',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: -1 } },
    [9, 0, 4],
  ],
  ['with null for its details', { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: null }, [9, 0, 4]],
  ['of zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, undefined],
  ['of output alone', { prompt_tokens: 0, completion_tokens: 4 }, [0, 0, 4]],
  ['that is null', null, undefined],
  ['that is absent', undefined, undefined],
  ['that is empty', {}, undefined],
  ['that is a list', [9, 4], undefined],
  ['with a negative count', { prompt_tokens: -9, completion_tokens: 4 }, undefined],
  ['with a fraction', { prompt_tokens: 9.5, completion_tokens: 4 }, undefined],
  ['with a count as text', { prompt_tokens: '9', completion_tokens: 4 }, undefined],
  ['with output as text', { prompt_tokens: 9, completion_tokens: '4' }, undefined],
  ['with a count beyond belief', { prompt_tokens: MAX_REPORTED_TOKENS + 1, completion_tokens: 4 }, undefined],
  ['with output beyond belief', { prompt_tokens: 9, completion_tokens: MAX_REPORTED_TOKENS + 1 }, undefined],
  [
    'with the largest counts',
    { prompt_tokens: MAX_REPORTED_TOKENS, completion_tokens: 1 },
    [MAX_REPORTED_TOKENS, 0, 1],
  ],
];

describe('usage', () => {
  for (const [what, usage, tokens] of USAGE) {
    test(`${what} is ${tokens === undefined ? 'not reported' : tokens.join(', ')}`, () => {
      const read = readUsage(usage);
      assert.deepEqual(read && [read.promptTokens, read.cachedTokens, read.completionTokens], tokens);
    });
  }
});

const BYTES: readonly (readonly [what: string, choice: object, bytes: number])[] = [
  ['a text', { message: { content: 'abc' } }, 3],
  ['a text of characters of several bytes', { message: { content: '漢é' } }, 5],
  ['a piece of text', { delta: { content: 'abc' } }, 3],
  [
    'text in parts',
    {
      delta: {
        content: [
          { type: 'text', text: 'ab' },
          { type: 'text', text: 'c' },
        ],
      },
    },
    3,
  ],
  ['reasoning, under either name', { delta: { reasoning_content: 'ab', reasoning: 'c' } }, 3],
  ['a refusal', { message: { content: null, refusal: 'abc' } }, 3],
  [
    'a tool call',
    { delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'ab', arguments: '{}' } }] } },
    4,
  ],
  ['a custom tool call', { message: { tool_calls: [{ custom: { name: 'ab', input: 'c' } }] } }, 3],
  ['a function call of old', { message: { function_call: { name: 'ab', arguments: '{}' } } }, 4],
  ['the text of a completion of old', { text: 'abc' }, 3],
  ['a role alone', { delta: { role: 'assistant' } }, 0],
  ['nonsense', { delta: { content: 5, tool_calls: 'x', function_call: [] } }, 0],
];

const bytesOf = ({ progress }: CompletionFacts) =>
  Buffer.byteLength(progress.flatMap(({ written }) => written).join(''));

describe('the bytes that the model wrote are those of', () => {
  for (const [what, choice, bytes] of BYTES) {
    test(what, () => {
      assert.equal(bytesOf(readCompletion({ choices: [choice] })), bytes);
      assert.equal(bytesOf(readCompletion({ choices: [choice, choice] })), bytes * 2);
    });
  }
});

describe('the choices of an answer', () => {
  test('are counted, and each has its index and whether it is finished', () => {
    const facts = readCompletion({
      choices: [{ index: 1, finish_reason: 'stop' }, { index: 0, finish_reason: null }, {}],
    });
    assert.equal(facts.choices, 3);
    assert.deepEqual(facts.progress, [
      { index: 1, finished: true, written: [] },
      { index: 0, finished: false, written: [] },
      { index: 2, finished: false, written: [] },
    ]);
  });

  test('are none where the list is empty, and unknown where there is no list', () => {
    assert.equal(readCompletion({ choices: [] }).choices, 0);
    for (const choices of [undefined, null, {}, 'x']) assert.equal(readCompletion({ choices }).choices, undefined);
  });

  test('are not finished by an empty reason', () => {
    assert.equal(readCompletion({ choices: [{ finish_reason: '' }] }).progress[0]?.finished, false);
  });
});

test('an answer that is nested beyond all measure is read without a fault', () => {
  const depth = 50_000;
  const text = `${'[{"text":'.repeat(depth)}"x"${'}]'.repeat(depth)}`;
  const content = JSON.parse(text) as unknown;
  assert.doesNotThrow(() => readCompletion({ choices: [{ message: { content } }] }));
});
