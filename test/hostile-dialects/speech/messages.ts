/** Speaks messages: the input is reported first, the output last, each apart from what the cache took. */
import type { Fields } from '../../hostile/names.ts';
import type { Order, Speech } from './speech.ts';
import { named } from './speech.ts';

export const MESSAGES: Speech = {
  maximum: 'max_tokens',
  usage,
  answer: (order, usage) => ({
    ...HEAD,
    content: [...searchesOf(order), { ...emptyBlock(order), ...wholeOf(order) }],
    stop_reason: 'end_turn',
    ...(usage !== undefined && { usage }),
  }),
  begin: (order, usage) => {
    const message = { ...HEAD, content: [], stop_reason: null, ...firstUsage(order, usage) };
    const start = { index: 0, content_block: emptyBlock(order) };
    return named('message_start', { message }) + searchesIn(order) + named('content_block_start', start);
  },
  piece: (order, text, usage) =>
    named('content_block_delta', { index: 0, delta: deltaOf(order, text) }) +
    (usage === undefined ? '' : named('message_delta', { delta: {}, usage: { ...usage, output_tokens: 0 } })),
  finish: (order) => named('content_block_stop', { index: 0 }) + (isLate(order) ? named('message_delta', STOPPED) : ''),
  end: (order, usage) => {
    const delta = isLate(order) ? { delta: {} } : STOPPED;
    const report = usage === undefined ? {} : { usage };
    const last = isLate(order) && usage === undefined ? '' : named('message_delta', { ...delta, ...report });
    return last + named('message_stop', {});
  },
};

const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'vendor', stop_sequence: null };
const STOPPED = { delta: { stop_reason: 'end_turn', stop_sequence: null } };

function isLate({ dialogue }: Order): boolean {
  return dialogue.conduct.report === 'late';
}

function usage({ bill, dialogue: { conduct } }: Order): Fields {
  const { pass } = conduct;
  const own = {
    input_tokens: bill.cached === undefined ? bill.inputTokens - (pass?.input ?? 0) : 0,
    output_tokens: bill.outputTokens - (pass?.output ?? 0),
    ...(bill.cached !== undefined && {
      cache_creation_input_tokens: bill.inputTokens,
      cache_creation: { [`ephemeral_${bill.cached}_input_tokens`]: bill.inputTokens },
    }),
    ...(bill.serviceTier !== undefined && { service_tier: bill.serviceTier }),
  };
  if (pass === undefined) return { ...own, ...searches(bill.searches) };
  const first = { type: 'compaction', input_tokens: pass.input, output_tokens: pass.output };
  return { ...own, ...searches(bill.searches), iterations: [first, { type: 'message', ...own }] };
}

function searches(count: number): Fields {
  return count === 0 ? {} : { server_tool_use: { web_search_requests: count } };
}

/** Each search is a block of its own, which begins before the text. */
function searchesOf({ bill }: Order): Fields[] {
  return Array.from({ length: bill.searches }, (_, index) => {
    return { type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'web_search', input: {} };
  });
}

function searchesIn(order: Order): string {
  const blocks = searchesOf(order);
  return blocks
    .map((block, index) => named('content_block_start', { index: -1 - index, content_block: block }))
    .join('');
}

/** Before anything is written there is one token of output, and nothing else is known. */
function firstUsage(order: Order, usage: Fields | undefined): Fields {
  if (usage === undefined) return {};
  if (isLate(order)) return { usage: { input_tokens: 0, output_tokens: 0 } };
  const { iterations: _, server_tool_use: __, ...rest } = usage;
  return { usage: { ...rest, ...(typeof usage.output_tokens === 'number' && { output_tokens: 1 }) } };
}

function emptyBlock({ dialogue: { conduct } }: Order): Fields {
  if (conduct.field === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  if (conduct.field === 'text') return { type: 'text', text: '' };
  return { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
}

function wholeOf({ dialogue: { conduct }, writing }: Order): Fields {
  const { text } = writing.written;
  if (conduct.field === 'call') return { input: { a: text } };
  return { [conduct.field]: text };
}

function deltaOf({ dialogue: { conduct } }: Order, text: string): Fields {
  if (conduct.field === 'call') return { type: 'input_json_delta', partial_json: text };
  return { type: `${conduct.field}_delta`, [conduct.field]: text };
}
