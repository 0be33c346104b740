/** The answers of the scripted hosts of the campaigns: one step of a script, whole and as a stream, in every dialect. */
import { isObject } from '../../../src/core/json.ts';
import type { ToolCall } from './agents.ts';

export const DONE_WORDS = 'The word is changed';

/** Tokens of one answer. `plain`: neither from a cache nor into one. */
export interface Usage {
  readonly plain: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}

export type Fields = Readonly<Record<string, unknown>>;

/** What one answer says, and what it took. */
export interface Step {
  /** Undefined for an answer of words. */
  readonly call: (ToolCall & { readonly id: string }) | undefined;
  readonly words: string;
  readonly usage: Usage;
}

/** The call behind those that the conversation has, of those whose tools the request offers. */
export function nextCall(calls: readonly ToolCall[], body: Fields): ToolCall | undefined {
  const places = JSON.stringify([body.tools, body.toolConfig, body.input]);
  const offered = calls.filter(({ tool }) => places.includes(`"name":"${tool}"`));
  return offered[callsIn(body, new Set(offered.map(({ tool }) => tool)))];
}

const CALL_TYPES: readonly unknown[] = ['tool_use', 'function_call', 'custom_tool_call'];

/** How many calls of these tools a conversation has, in any dialect. */
function callsIn(value: unknown, tools: ReadonlySet<unknown>): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + callsIn(each, tools), 0);
  if (!isObject(value)) return 0;
  const { type, name, id, toolUse, functionCall, function: called } = value;
  const ofChat = type === 'function' && id !== undefined ? called : undefined;
  const named = [CALL_TYPES.includes(type) ? { name } : undefined, toolUse, functionCall, ofChat];
  const isCall = named.some((each) => isObject(each) && tools.has(each.name));
  return isCall ? 1 : Object.values(value).reduce((sum: number, each) => sum + callsIn(each, tools), 0);
}

const SIGNATURE = Buffer.from('signed by its host').toString('base64');

function contentOf({ call, words }: Step): readonly Fields[] {
  const thinking = { type: 'thinking', thinking: 'What comes next?', signature: SIGNATURE };
  if (call === undefined) return [thinking, { type: 'text', text: words }];
  return [thinking, { type: 'tool_use', id: call.id, name: call.tool, input: call.args }];
}

function messagesUsage({ usage: { plain, cached, written, output } }: Step): Fields {
  return {
    ...{ input_tokens: plain, cache_read_input_tokens: cached },
    ...{ cache_creation_input_tokens: written, output_tokens: output },
  };
}

export function message(step: Step) {
  const { call } = step;
  return {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: contentOf(step) },
    ...{ stop_reason: call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
    usage: messagesUsage(step),
  };
}

export function messagesEvents(step: Step) {
  const whole = message(step);
  const begun = { ...whole, content: [], stop_reason: null, usage: { ...whole.usage, output_tokens: 1 } };
  const { stop_reason, stop_sequence, usage } = whole;
  return [
    { type: 'message_start', message: begun },
    ...contentOf(step).flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptied(block) },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ];
}

function emptied(block: Fields): Fields {
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
}

function deltasOf({ type, thinking, signature, text, input }: Fields): readonly Fields[] {
  if (type === 'text') return [{ type: 'text_delta', text }];
  if (type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }];
  return [
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  ];
}

function converseUsage({ usage: { plain, cached, written, output } }: Step): Fields {
  return {
    ...{ inputTokens: plain, cacheReadInputTokens: cached, cacheWriteInputTokens: written, outputTokens: output },
    totalTokens: plain + cached + written + output,
  };
}

export function converseAnswer(step: Step) {
  const { call, words } = step;
  const content =
    call === undefined ? { text: words } : { toolUse: { toolUseId: call.id, name: call.tool, input: call.args } };
  return {
    output: { message: { role: 'assistant', content: [content] } },
    stopReason: call === undefined ? 'end_turn' : 'tool_use',
    usage: converseUsage(step),
    metrics: { latencyMs: 1 },
  };
}

export function converseEvents(step: Step): readonly Readonly<Record<string, object>>[] {
  const { call, words } = step;
  const at = { contentBlockIndex: 0 };
  const block =
    call === undefined
      ? [{ contentBlockDelta: { ...at, delta: { text: words } } }]
      : [
          { contentBlockStart: { ...at, start: { toolUse: { toolUseId: call.id, name: call.tool } } } },
          { contentBlockDelta: { ...at, delta: { toolUse: { input: JSON.stringify(call.args) } } } },
        ];
  return [
    { messageStart: { role: 'assistant' } },
    ...block,
    { contentBlockStop: at },
    { messageStop: { stopReason: call === undefined ? 'end_turn' : 'tool_use' } },
    { metadata: { usage: converseUsage(step), metrics: { latencyMs: 1 } } },
  ];
}

/** Google writes no caches that it bills. */
export function geminiAnswer({ call, words, usage: { plain, cached, written, output } }: Step): object {
  const said = call && { functionCall: { name: call.tool, args: call.args }, thoughtSignature: SIGNATURE };
  const thoughts = 5;
  return {
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'What comes next?', thought: true }, said ?? { text: words }] },
        ...{ finishReason: 'STOP', index: 0 },
      },
    ],
    usageMetadata: {
      ...{ promptTokenCount: plain + cached + written, cachedContentTokenCount: cached },
      ...{ candidatesTokenCount: output - thoughts, thoughtsTokenCount: thoughts },
      totalTokenCount: plain + cached + written + output,
    },
    modelVersion: 'gemini-3.6-flash',
  };
}

export function chatAnswer(step: Step): object {
  const [{ delta, finish_reason } = { delta: {}, finish_reason: null }] = chatChoices(step);
  const message = { role: 'assistant', content: null, ...delta };
  return { ...chatFrame(step, 'chat.completion'), choices: [{ index: 0, message, finish_reason }] };
}

export function chatChunks(step: Step): readonly object[] {
  const { usage, ...frame } = chatFrame(step, 'chat.completion.chunk');
  return [...chatChoices(step).map((choice) => ({ ...frame, choices: [choice] })), { ...frame, choices: [], usage }];
}

function chatFrame({ usage: { plain, cached, output } }: Step, object: string) {
  const usage = {
    ...{ prompt_tokens: plain + cached, completion_tokens: output, total_tokens: plain + cached + output },
    prompt_tokens_details: { cached_tokens: cached },
  };
  return { id: 'chatcmpl-1', object, created: 1, model: 'vendor-echo-1', usage };
}

function chatChoices({ call, words }: Step) {
  if (call === undefined) return [{ index: 0, delta: { content: words }, finish_reason: 'stop' }];
  const called = { name: call.tool, arguments: JSON.stringify(call.args) };
  const delta = { tool_calls: [{ index: 0, id: call.id, type: 'function', function: called }] };
  return [{ index: 0, delta, finish_reason: 'tool_calls' }];
}

function responseItem({ call, words }: Step): Fields {
  if (call !== undefined) {
    const { id, tool, args, namespace } = call;
    const called = { call_id: id, name: tool, status: 'completed', ...(namespace && { namespace }) };
    return typeof args === 'string'
      ? { id: `ctc_${id}`, type: 'custom_tool_call', input: args, ...called }
      : { id: `fc_${id}`, type: 'function_call', arguments: JSON.stringify(args), ...called };
  }
  const content = [{ type: 'output_text', text: words, annotations: [], logprobs: [] }];
  return { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content };
}

export function response(step: Step, status: 'in_progress' | 'completed' = 'completed') {
  const { plain, cached, output } = step.usage;
  const input = plain + cached;
  const isDone = status === 'completed';
  return {
    ...{ id: 'resp_1', object: 'response', created_at: 1, status, model: 'vendor-1', error: null },
    output: isDone ? [responseItem(step)] : [],
    usage: isDone
      ? {
          ...{ input_tokens: input, input_tokens_details: { cached_tokens: cached } },
          ...{ output_tokens: output, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: input + output },
        }
      : null,
  };
}

export function responseEvents(step: Step): readonly (Fields & { readonly type: string })[] {
  const item = responseItem(step);
  const place = { item_id: item.id, output_index: 0 };
  const [begun, name, field, extra] = progressOf(step);
  const text = item[field] ?? step.words;
  const events = [
    { type: 'response.created', response: response(step, 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, ...begun, status: 'in_progress' } },
    { type: `response.${name}.delta`, ...place, ...extra, delta: text },
    { type: `response.${name}.done`, ...place, ...extra, [field]: text },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: response(step) },
  ];
  return events.map((event, number) => ({ ...event, sequence_number: number }));
}

/** Of a streamed item: what it begins as, its events, and the field that they fill. */
function progressOf({ call }: Step): readonly [begun: Fields, name: string, field: string, extra: Fields] {
  if (call === undefined) return [{ content: [] }, 'output_text', 'text', { content_index: 0, logprobs: [] }];
  return typeof call.args === 'string'
    ? [{ input: '' }, 'custom_tool_call_input', 'input', {}]
    : [{ arguments: '' }, 'function_call_arguments', 'arguments', {}];
}
