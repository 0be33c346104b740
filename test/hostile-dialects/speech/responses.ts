/** Speaks responses: the last event repeats everything, and has the only report. */
import type { Fields } from '../../hostile/names.ts';
import type { Order, Speech } from './speech.ts';
import { named } from './speech.ts';

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
    searchesOf(order)
      .map((item) => named('response.output_item.added', { output_index: 0, item }))
      .join('') +
    named('response.output_item.added', { output_index: 0, item: itemOf(order, '') }),
  piece: ({ dialogue }, text) => named(DELTAS[dialogue.conduct.field], { output_index: 0, delta: text }),
  finish: (order) => named('response.output_item.done', { output_index: 0, item: itemOf(order) }),
  end: (order, usage) => named('response.completed', { response: responseOf(order, 'completed', usage) }),
};

const DELTAS = {
  text: 'response.output_text.delta',
  thinking: 'response.reasoning_summary_text.delta',
  call: 'response.function_call_arguments.delta',
};

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
  return [...searchesOf(order), itemOf(order)];
}

function searchesOf({ bill }: Order): Fields[] {
  return Array.from({ length: bill.searches }, (_, index) => ({ type: 'web_search_call', id: `ws_${index}` }));
}

function itemOf({ dialogue: { conduct }, writing }: Order, text = writing.written.text): Fields {
  if (conduct.field === 'thinking') {
    return { type: 'reasoning', id: 'rs_1', summary: text === '' ? [] : [{ type: 'summary_text', text }] };
  }
  if (conduct.field === 'call') {
    return { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: text };
  }
  const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
}
