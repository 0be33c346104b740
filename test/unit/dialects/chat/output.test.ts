/** What a model has written in each field of a message or delta that the official library or another host knows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatCompletionChunk, ChatCompletionMessage } from 'openai/resources/chat/completions/completions';
import { readChunk, readCompletion } from '../../../../src/dialects/chat/chat-answer.ts';

/** 300 bytes of something encrypted, or of audio. */
const SECRET = 'S'.repeat(400);

interface Row {
  readonly value: unknown;
  readonly written?: string;
  readonly unseenTokens?: number;
  readonly images?: number;
  readonly audioBytes?: number;
}

const call = { name: 'f', arguments: '{}' };

const LIBRARY: Readonly<Record<keyof ChatCompletionMessage | keyof ChatCompletionChunk.Choice.Delta, readonly Row[]>> =
  {
    role: [{ value: 'assistant' }],
    content: [{ value: 'said', written: 'said' }],
    refusal: [{ value: 'no', written: 'no' }],
    function_call: [{ value: call, written: 'f{}' }],
    tool_calls: [
      { value: [{ function: call }], written: 'f{}' },
      { value: [{ custom: { name: 'f', input: 'x' } }], written: 'fx' },
    ],
    audio: [
      { value: { id: 'a', data: SECRET, transcript: 'said', expires_at: 1 }, written: 'said', audioBytes: 300 },
      { value: { expires_at: 1 } },
      { value: null },
    ],
    // Pages that a search has found.
    annotations: [{ value: [{ type: 'url_citation', url_citation: { title: 'found', url: 'found' } }] }],
  };

/** Of hosts that are not OpenAI. */
const OTHERS: Readonly<Record<string, readonly Row[]>> = {
  content: [
    {
      value: [{ type: 'thinking', thinking: [{ type: 'text', text: 'thought' }] }, { text: 'said' }],
      written: 'thoughtsaid',
    },
  ],
  reasoning_content: [{ value: 'thought', written: 'thought' }],
  reasoning: [{ value: 'thought', written: 'thought' }],
  reasoning_details: [
    { value: [{ type: 'reasoning.text', text: 'thought', signature: SECRET }], written: 'thought' },
    { value: [{ type: 'reasoning.summary', summary: 'summed up' }], written: 'summed up' },
    { value: [{ type: 'reasoning.encrypted', data: SECRET }], unseenTokens: 300 },
  ],
  tool_calls: [
    {
      value: [{ function: call, extra_content: { google: { thought_signature: SECRET } } }],
      written: 'f{}',
      unseenTokens: 300,
    },
  ],
  extra_content: [{ value: { google: { thought_signature: SECRET } }, unseenTokens: 300 }],
  executed_tools: [{ value: [{ type: 'python', arguments: '{}', output: 'found' }], written: '{}' }],
  images: [{ value: [{ type: 'image_url', image_url: { url: SECRET } }], images: 1 }],
  citations: [{ value: ['found'] }],
  search_results: [{ value: [{ title: 'found' }] }],
};

describe('a model has written in the field', () => {
  for (const [field, rows] of [...Object.entries(LIBRARY), ...Object.entries(OTHERS)]) {
    for (const { value, written = '', unseenTokens = 0, images = 0, audioBytes = 0 } of rows) {
      test(`${field} ${JSON.stringify(value).slice(0, 80)}`, () => {
        const message = { [field]: value };
        const reads = [readCompletion({ choices: [{ message }] }), readChunk({ choices: [{ delta: message }] })];
        for (const { progress } of reads) {
          const [output] = progress;
          assert.deepEqual(
            [output?.written.join(''), output?.unseenTokens, output?.images, output?.audioBytes],
            [written, unseenTokens, images, audioBytes],
          );
        }
      });
    }
  }

  test('thinking in two fields counts once', () => {
    const message = { reasoning: 'thought', reasoning_details: [{ text: 'thought' }, { data: SECRET }] };
    const [output] = readCompletion({ choices: [{ message }] }).progress;
    assert.deepEqual([output?.written, output?.unseenTokens], [['thought'], 300]);
  });
});
