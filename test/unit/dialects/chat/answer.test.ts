/** Reading completions: usage in every form, choices, and the bytes of the output. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_REPORTED_TOKENS } from '../../../../src/core/usage.ts';
import type { AnswerFacts } from '../../../../src/dialects/answer.ts';
import { readCompletion, readUsage } from '../../../../src/dialects/chat/chat-answer.ts';

/**
 * Usage as a host reports it, and its input, cached and output tokens; undefined if it is unusable.
 */
const USAGE: readonly (readonly [
  what: string,
  usage: unknown,
  tokens: readonly [number, number, number] | undefined,
])[] = [
  ['plain', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }, [9, 0, 4]],
  ['without a total', { prompt_tokens: 9, completion_tokens: 4 }, [9, 0, 4]],
  ['with no output', { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 }, [9, 0, 0]],
  ['without an output count', { prompt_tokens: 9, total_tokens: 9 }, [9, 0, 0]],
  ['with reasoning only in the total', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 113 }, [9, 0, 104]],
  ['with output only in the total', { prompt_tokens: 9, total_tokens: 20 }, [9, 0, 11]],
  ['with a total that is too small', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 5 }, [9, 0, 4]],
  ['with a total that is not a number', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 'x' }, [9, 0, 4]],
  [
    'with cached tokens',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
    [9, 5, 4],
  ],
  [
    'with more cached tokens than input',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 50 } },
    [9, 9, 4],
  ],
  [
    'with an invalid cached count',
    { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: -1 } },
    [9, 0, 4],
  ],
  ['with null for its details', { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: null }, [9, 0, 4]],
  ['of only zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, undefined],
  ['of output only', { prompt_tokens: 0, completion_tokens: 4 }, [0, 0, 4]],
  ['that is null', null, undefined],
  ['that is absent', undefined, undefined],
  ['that is empty', {}, undefined],
  ['that is an array', [9, 4], undefined],
  ['with a negative count', { prompt_tokens: -9, completion_tokens: 4 }, undefined],
  ['with a fraction', { prompt_tokens: 9.5, completion_tokens: 4 }, undefined],
  ['with a count as a string', { prompt_tokens: '9', completion_tokens: 4 }, undefined],
  ['with output as a string', { prompt_tokens: 9, completion_tokens: '4' }, undefined],
  ['with an impossible count', { prompt_tokens: MAX_REPORTED_TOKENS + 1, completion_tokens: 4 }, undefined],
  ['with impossible output', { prompt_tokens: 9, completion_tokens: MAX_REPORTED_TOKENS + 1 }, undefined],
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
  ['a string', { message: { content: 'abc' } }, 3],
  ['a string of multi-byte characters', { message: { content: '漢é' } }, 5],
  ['a piece of a string', { delta: { content: 'abc' } }, 3],
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
  ['a legacy function call', { message: { function_call: { name: 'ab', arguments: '{}' } } }, 4],
  ['the text of a legacy completion', { text: 'abc' }, 3],
  ['only a role', { delta: { role: 'assistant' } }, 0],
  ['invalid values', { delta: { content: 5, tool_calls: 'x', function_call: [] } }, 0],
];

const bytesOf = ({ progress }: AnswerFacts) => Buffer.byteLength(progress.flatMap(({ written }) => written).join(''));

describe('the output bytes are those of', () => {
  for (const [what, choice, bytes] of BYTES) {
    test(what, () => {
      assert.equal(bytesOf(readCompletion({ choices: [choice] })), bytes);
      assert.equal(bytesOf(readCompletion({ choices: [choice, choice] })), bytes * 2);
    });
  }
});

describe('the choices of a completion', () => {
  test('are counted, with the index of each and whether it has finished', () => {
    const facts = readCompletion({
      choices: [{ index: 1, finish_reason: 'stop' }, { index: 0, finish_reason: null }, {}],
    });
    assert.equal(facts.choices, 3);
    assert.deepEqual(
      facts.progress.map(({ index, finished }) => [index, finished]),
      [
        [1, true],
        [0, false],
        [2, false],
      ],
    );
  });

  test('are 0 if the array is empty, and undefined if there is none', () => {
    assert.equal(readCompletion({ choices: [] }).choices, 0);
    for (const choices of [undefined, null, {}, 'x']) assert.equal(readCompletion({ choices }).choices, undefined);
  });

  test('have not finished if the reason is empty', () => {
    assert.equal(readCompletion({ choices: [{ finish_reason: '' }] }).progress[0]?.finished, false);
  });
});

test('a completion nested very deeply is read without an error', () => {
  const depth = 50_000;
  const text = `${'[{"text":'.repeat(depth)}"x"${'}]'.repeat(depth)}`;
  const content = JSON.parse(text) as unknown;
  assert.doesNotThrow(() => readCompletion({ choices: [{ message: { content } }] }));
});
