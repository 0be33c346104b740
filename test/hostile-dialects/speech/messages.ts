/** Speaks messages: the input is reported first, the output last, each apart from what the cache took. */
import type { Fields } from '../../hostile/names.ts';
import type { Field, HostBill } from '../dialogue.ts';
import { named, type Order, type Speech, sealed } from './speech.ts';

export const MESSAGES: Speech = {
  maximum: 'max_tokens',
  usage,
  answer: (order, usage) => ({
    ...HEAD,
    content: [...callsIn(order), { ...emptyBlock(order), ...wholeOf(order) }],
    stop_reason: 'end_turn',
    ...(usage !== undefined && { usage }),
  }),
  begin: (order, usage) => {
    const message = { ...HEAD, content: [], stop_reason: null, ...firstUsage(order, usage) };
    const start = { index: 0, content_block: emptyBlock(order) };
    return named('message_start', { message }) + callEvents(order) + named('content_block_start', start);
  },
  piece: (order, text, usage) =>
    pieceOf(order, text) +
    (usage === undefined ? '' : named('message_delta', { delta: {}, usage: { ...usage, output_tokens: 0 } })),
  finish: (order) => named('content_block_stop', { index: 0 }) + (isLate(order) ? named('message_delta', STOPPED) : ''),
  end: (order, usage) => {
    const delta = isLate(order) ? { delta: {} } : STOPPED;
    const report = usage === undefined ? {} : { usage };
    const last = isLate(order) && usage === undefined ? '' : named('message_delta', { ...delta, ...report });
    return last + named('message_stop', {});
  },
  failure: (_, usage) =>
    (usage === undefined ? '' : named('message_delta', { delta: {}, usage })) + named('error', FAILED),
  failedAnswer: (_, usage) => ({
    status: 400,
    body: { type: 'error', ...FAILED, ...(usage !== undefined && { usage }) },
  }),
};

const FAILED = { error: { type: 'api_error', message: 'The answer could not be finished.' } };

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
  if (pass === undefined) return { ...own, ...countsOf(bill) };
  const first = { type: 'compaction', input_tokens: pass.input, output_tokens: pass.output };
  return { ...own, ...countsOf(bill), iterations: [first, { type: 'message', ...own }] };
}

/** Hosts count calls of these alone. */
const COUNTED = ['web_search', 'web_fetch'];

function countsOf({ calls }: HostBill): Fields {
  const counts = COUNTED.map(
    (name) => [`${name}_requests`, calls.filter((call) => call.name === name).length] as const,
  );
  const made = counts.filter(([, count]) => count > 0);
  return made.length === 0 ? {} : { server_tool_use: Object.fromEntries(made) };
}

/** Each call is a block of its own, which begins before the text. */
function callsIn({ bill }: Order): Fields[] {
  return bill.calls.map(({ name }, index) => ({ type: 'server_tool_use', id: `srvtoolu_${index}`, name, input: {} }));
}

function callEvents(order: Order): string {
  return callsIn(order)
    .map((block, index) => named('content_block_start', { index: -1 - index, content_block: block }))
    .join('');
}

/** Before anything is written there is one token of output, and nothing else is known. */
function firstUsage(order: Order, usage: Fields | undefined): Fields {
  if (usage === undefined) return {};
  if (isLate(order)) return { usage: { input_tokens: 0, output_tokens: 0 } };
  const { iterations: _, server_tool_use: __, ...rest } = usage;
  // What tools find comes in later.
  const foundTokens = order.bill.calls.length * order.dialogue.conduct.found;
  if (Number(rest.input_tokens) > foundTokens) rest.input_tokens = Number(rest.input_tokens) - foundTokens;
  return { usage: { ...rest, ...(typeof usage.output_tokens === 'number' && { output_tokens: 1 }) } };
}

function emptyBlock({ dialogue: { conduct } }: Order): Fields {
  switch (conduct.field) {
    case 'thinking':
    case 'signature':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'compaction':
    case 'sealed compaction':
      return { type: 'compaction', content: null, encrypted_content: null };
    case 'call':
      return { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
    default:
      return { type: 'text', text: '' };
  }
}

function wholeOf({ dialogue: { conduct }, writing }: Order): Fields {
  const { text } = writing.written;
  switch (conduct.field) {
    case 'call':
      return { input: { a: text } };
    case 'redacted thinking':
      return { type: 'redacted_thinking', data: sealed(text) };
    default: {
      const { type: _, ...written } = deltaOf(conduct.field, text);
      return written;
    }
  }
}

function pieceOf({ dialogue: { conduct } }: Order, text: string): string {
  if (conduct.field !== 'redacted thinking') {
    return named('content_block_delta', { index: 0, delta: deltaOf(conduct.field, text) });
  }
  const block = { type: 'redacted_thinking', data: sealed(text) };
  return named('content_block_start', { index: 0, content_block: block }) + named('content_block_stop', { index: 0 });
}

function deltaOf(field: Field, text: string): Fields {
  switch (field) {
    case 'call':
      return { type: 'input_json_delta', partial_json: text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'signature':
      return { type: 'signature_delta', signature: sealed(text) };
    case 'compaction':
      return { type: 'compaction_delta', content: text, encrypted_content: null };
    case 'sealed compaction':
      return { type: 'compaction_delta', content: null, encrypted_content: sealed(text) };
    default:
      return { type: 'text_delta', text };
  }
}
