/** Speaks chat completions, as far as hosts of other dialects are translated to them. */

import type { Fields } from '../../hostile/names.ts';
import { tokensIn } from '../../hostile/tokens.ts';
import { DONE, event } from '../../support/answers.ts';
import { type Order, SPOKEN_TOKENS, type Speech } from './speech.ts';

export const CHAT: Speech = {
  maximum: 'max_tokens',
  usage: ({ bill: { inputTokens, outputTokens, audioInput, audioOutput, imageOutput }, dialogue: { conduct } }) => ({
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(audioInput > 0 && { prompt_tokens_details: { audio_tokens: audioInput } }),
    ...(audioOutput > 0 && { completion_tokens_details: { audio_tokens: audioOutput } }),
    ...(imageOutput > 0 && conduct.isImageTold && { completion_tokens_details: { image_tokens: imageOutput } }),
  }),
  answer: (order, usage) => ({
    id: 'chatcmpl-1',
    choices: [{ index: 0, message: { role: 'assistant', ...said(order), ...drawn(order) }, finish_reason: 'stop' }],
    ...(usage !== undefined && { usage }),
  }),
  begin: (order, usage) => {
    const isEarly = order.dialogue.conduct.report === 'early';
    return isEarly ? chunk({ role: 'assistant' }, null, usage && soFar(usage, 1)) : '';
  },
  piece: (order, text, usage) => {
    const report = usage && soFar(usage, 0);
    if (order.dialogue.conduct.field !== 'speech') return chunk(said(order, text), null, report);
    return [{ transcript: text }, { data: spoken(text) }]
      .map((audio) => chunk({ audio: { id: 'audio_1', ...audio } }, null, report))
      .join('');
  },
  finish: (order) => chunk(drawn(order), 'stop', undefined),
  end: ({ fields }, usage) => {
    const options = fields.stream_options as Fields | undefined;
    const isAsked = options?.include_usage === true && usage !== undefined;
    return (isAsked ? event({ id: 'chatcmpl-1', choices: [], usage }) : '') + DONE;
  },
  failure: (_, usage) => event({ ...FAILED, id: 'chatcmpl-1', choices: [], ...(usage !== undefined && { usage }) }),
  failedAnswer: (_, usage) => ({ status: 400, body: { ...FAILED, ...(usage !== undefined && { usage }) } }),
};

/** As hosts say where a model has written a call that is none. */
const FAILED = {
  error: { message: 'Failed to call a function.', type: 'invalid_request_error', code: 'tool_use_failed' },
};

/** For a token: 50 ms of 24,000 samples a second, two bytes each. */
const BYTES_PER_SPOKEN_TOKEN = 2_400;

function drawn({ dialogue: { conduct } }: Order): Fields {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  return conduct.images === 0 ? {} : { images: Array(conduct.images).fill(image) };
}

function spoken(text: string): string {
  return Buffer.alloc(tokensIn(text) * SPOKEN_TOKENS * BYTES_PER_SPOKEN_TOKEN).toString('base64');
}

/** The usage when so many tokens of output are written. */
function soFar(usage: Fields, outputTokens: number): Fields {
  return { ...usage, completion_tokens: outputTokens, total_tokens: Number(usage.prompt_tokens) + outputTokens };
}

function chunk(delta: Fields, finishReason: string | null, usage: Fields | undefined): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return event({ id: 'chatcmpl-1', choices, ...(usage !== undefined && { usage }) });
}

function said({ dialogue: { conduct }, writing }: Order, text = writing.written.text): Fields {
  switch (conduct.field) {
    case 'thinking':
      return { reasoning_content: text };
    case 'thinking details':
      return { reasoning_details: [{ type: 'reasoning.text', text, index: 0, format: 'unknown' }] };
    case 'thinking parts':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
    case 'speech':
      return { content: null, audio: { id: 'audio_1', data: spoken(text), transcript: text, expires_at: 1 } };
    case 'call':
      return { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: text } }] };
    default:
      return { content: text };
  }
}
