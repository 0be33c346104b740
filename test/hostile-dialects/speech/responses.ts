/** Speaks responses: the last event repeats everything, and has the only report. */
import type { Fields } from '../../hostile/names.ts';
import type { Field } from '../dialogue.ts';
import { named, type Order, type Speech, sealed } from './speech.ts';

export const RESPONSES: Speech = {
  maximum: 'max_output_tokens',
  usage: ({ bill: { inputTokens, outputTokens, cached } }) => ({
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, ...(cached !== undefined && { cache_write_tokens: inputTokens }) },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }),
  answer: (order, usage) => responseOf(order, 'completed', usage),
  begin: (order) =>
    named('response.created', { response: responseOf(order, 'in_progress', undefined, []) }) +
    callsIn(order)
      .map((item) => named('response.output_item.added', { output_index: 0, item }))
      .join('') +
    named('response.output_item.added', { output_index: 0, item: itemOf(order, '') }),
  piece: ({ dialogue: { conduct } }, text) => {
    const delta = DELTAS.get(conduct.field);
    if (delta !== undefined) return named(delta, { output_index: 0, delta: text });
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed(text) };
    return named('response.output_item.done', { output_index: 0, item });
  },
  finish: (order) => named('response.output_item.done', { output_index: 0, item: itemOf(order) }),
  end: (order, usage) => named('response.completed', { response: responseOf(order, 'completed', usage) }),
  failure: (order, usage) => named('response.failed', { response: failedOf(order, usage) }),
  failedAnswer: (order, usage) => ({ status: 200, body: failedOf(order, usage) }),
};

const DELTAS: ReadonlyMap<Field, string> = new Map([
  ['text', 'response.output_text.delta'],
  ['thinking', 'response.reasoning_summary_text.delta'],
  ['call', 'response.function_call_arguments.delta'],
  ['reasoning text', 'response.reasoning_text.delta'],
  ['code', 'response.code_interpreter_call_code.delta'],
]);

function failedOf(order: Order, usage: Fields | undefined): Fields {
  return {
    ...responseOf(order, 'failed', usage),
    error: { code: 'server_error', message: 'It could not be finished.' },
  };
}

function responseOf(order: Order, status: string, usage: Fields | undefined, output = outputOf(order)): Fields {
  const { serviceTier } = order.bill;
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    model: 'vendor',
    output,
    usage: usage ?? null,
    ...(serviceTier !== undefined && { service_tier: serviceTier }),
  };
}

function outputOf(order: Order): Fields[] {
  return [...callsIn(order), itemOf(order)];
}

function callsIn({ bill }: Order): Fields[] {
  return bill.calls.map(({ name, shown }, index) => ({ type: `${name}_call`, id: `call_${index}`, ...shown }));
}

function itemOf({ dialogue: { conduct }, writing }: Order, text = writing.written.text): Fields {
  switch (conduct.field) {
    case 'thinking':
      return { type: 'reasoning', id: 'rs_1', summary: text === '' ? [] : [{ type: 'summary_text', text }] };
    case 'reasoning text':
      return { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text }] };
    case 'sealed reasoning':
      return { type: 'reasoning', id: 'rs_1', summary: [], ...(text !== '' && { encrypted_content: sealed(text) }) };
    case 'call':
      return { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: text };
    default: {
      const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [] }];
      return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
    }
  }
}
