/** Speaks chat completions, as far as hosts of other dialects are translated to them. */

import type { Fields } from '../../hostile/names.ts';
import { DONE, event } from '../../support/answers.ts';
import type { Order, Speech } from './speech.ts';

export const CHAT: Speech = {
  maximum: 'max_tokens',
  usage: ({ bill: { inputTokens, outputTokens } }) => ({
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }),
  answer: (order, usage) => ({
    id: 'chatcmpl-1',
    choices: [{ index: 0, message: { role: 'assistant', ...said(order) }, finish_reason: 'stop' }],
    ...(usage !== undefined && { usage }),
  }),
  begin: (order, usage) => {
    const isEarly = order.dialogue.conduct.report === 'early';
    return isEarly ? chunk({ role: 'assistant' }, null, usage && soFar(usage, 1)) : '';
  },
  piece: (order, text, usage) => chunk(said(order, text), null, usage && soFar(usage, 0)),
  finish: () => chunk({}, 'stop', undefined),
  end: ({ fields }, usage) => {
    const options = fields.stream_options as Fields | undefined;
    const isAsked = options?.include_usage === true && usage !== undefined;
    return (isAsked ? event({ id: 'chatcmpl-1', choices: [], usage }) : '') + DONE;
  },
};

/** The usage when so many tokens of output are written. */
function soFar(usage: Fields, outputTokens: number): Fields {
  return { ...usage, completion_tokens: outputTokens, total_tokens: Number(usage.prompt_tokens) + outputTokens };
}

function chunk(delta: Fields, finishReason: string | null, usage: Fields | undefined): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return event({ id: 'chatcmpl-1', choices, ...(usage !== undefined && { usage }) });
}

function said({ dialogue: { conduct }, writing }: Order, text = writing.written.text): Fields {
  if (conduct.field === 'thinking') return { reasoning_content: text };
  if (conduct.field === 'text') return { content: text };
  return { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: text } }] };
}
