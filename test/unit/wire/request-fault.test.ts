/** Faults of requests in the words of hosts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestFaultIn } from '../../../src/wire/request-fault.ts';

const OVERFLOWS: readonly (readonly [
  host: string,
  message: string,
  figures?: readonly [tokens: number, maximum: number],
])[] = [
  [
    'OpenAI',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130045 tokens.",
    [130_045, 128_000],
  ],
  ['OpenAI, responses', 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
  ['Anthropic', 'prompt is too long: 210433 tokens > 200000 maximum', [210_433, 200_000]],
  [
    'Google',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    [1_200_000, 1_048_576],
  ],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 150000 tokens.", [150_000, 131_072]],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    [40_000, 32_768],
  ],
  [
    'vLLM',
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion).",
    [5_000, 4_096],
  ],
  [
    'llama.cpp',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
  ],
  [
    'llama.cpp with figures',
    'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it',
    [9_000, 8_192],
  ],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['Amazon', 'Input is too long for requested model.'],
];

describe('an input beyond the context window is recognized in the words of', () => {
  for (const [host, message, figures] of OVERFLOWS) {
    test(host, () => {
      const overflow = figures && { overflow: { tokens: figures[0], maximum: figures[1] } };
      assert.deepEqual(requestFaultIn({ message, labels: [] }), { code: 'context_length_exceeded', ...overflow });
    });
  }
});

test('a code of OpenAI names the fault, whatever the message', () => {
  for (const code of ['context_length_exceeded', 'invalid_prompt', 'content_filter', 'image_too_large']) {
    assert.deepEqual(requestFaultIn({ message: 'No.', labels: ['400', code] }), { code });
  }
});

test('other errors of hosts are no faults of this kind', () => {
  for (const message of [
    'max_tokens is too large: 200000. This model supports at most 16384 completion tokens.',
    "'max_tokens' or 'max_completion_tokens' is too large: 40960. This model's maximum context length is 40960 tokens and your request has 57 input tokens",
    'Rate limit reached for gpt-5.5: limit 30000 tokens per minute, requested 40000.',
    'Unsupported parameter: top_k.',
  ]) {
    assert.equal(
      requestFaultIn({ message, labels: ['invalid_request_error', 'rate_limit_exceeded'] }),
      undefined,
      message,
    );
  }
});
