/**
 * What translations leave out of requests by intent: the table in docs/clients.md is printed from here, and every row is
 * proved by requests.
 */
import assert from 'node:assert/strict';
import type { Fields } from '../../../src/dialects/dialect.ts';

export const WAYS = ['chat → messages', 'messages → chat', 'responses → chat', 'responses → messages'] as const;
export type Way = (typeof WAYS)[number];

export interface LeftOut {
  /** As the header has it. `<name>` stands for what the sender or the config has written. */
  readonly name: string;
  readonly what: string;
  /** Fields of a request that has it, for each way on which it is left out. */
  readonly in: Partial<Readonly<Record<Way, Fields>>>;
  /** What is left out of the same request. */
  readonly with?: readonly string[];
  readonly ignoreTools?: readonly string[];
}

const HI = { role: 'user', content: 'Hi' };

/** For the ways of one client. */
function chat(fields: Fields): LeftOut['in'] {
  return { 'chat → messages': fields };
}
function messages(fields: Fields): LeftOut['in'] {
  return { 'messages → chat': fields };
}
function responses(fields: Fields): LeftOut['in'] {
  return { 'responses → chat': fields, 'responses → messages': fields };
}

const assistant = (fields: Fields) => ({ messages: [HI, { role: 'assistant', content: 'x', ...fields }, HI] });
const part = (type: string, fields: Fields) => ({ input: [{ role: 'user', content: [{ type, ...fields }] }] });
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';
const tool = (fields: Fields) => ({ tools: [{ type: 'function', name: 'a', ...fields }] });
const TOOL = { name: 'a', input_schema: { type: 'object' } };
const past = (block: Fields) => ({
  messages: [HI, { role: 'assistant', content: [block, { type: 'text', text: 'A' }] }, HI],
});
const THINKING = { thinking: { type: 'enabled', budget_tokens: 2000 } };
const FOREIGN = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
const SAID = { role: 'assistant', content: 'A' };

const hosted = (name: string, what: string, types: readonly string[], ignoreTools?: readonly string[]): LeftOut => ({
  name: `tools.${name}`,
  what,
  in: responses({ tools: types.map((type) => ({ type })) }),
  ...(ignoreTools && { ignoreTools }),
});

export const LEFT_OUT: readonly LeftOut[] = [
  { name: 'seed', what: 'a tendency, to which no answer can be held', in: chat({ seed: 1 }) },
  { name: 'presence_penalty', what: 'the same', in: chat({ presence_penalty: 0.5 }) },
  { name: 'frequency_penalty', what: 'the same', in: chat({ frequency_penalty: 0.5 }) },
  { name: 'verbosity', what: 'the same', in: chat({ verbosity: 'low' }) },
  { name: 'text.verbosity', what: 'the same', in: { 'responses → messages': { text: { verbosity: 'low' } } } },
  {
    name: 'metadata',
    what: 'a note for the records of another host',
    in: { ...chat({ metadata: { a: 'b' } }), 'responses → messages': { metadata: { a: 'b' } } },
  },
  { name: 'client_metadata', what: 'the same', in: responses({ client_metadata: { a: 'b' } }) },
  {
    name: 'image_url.detail',
    what: 'the host sees as much of an image as it can',
    in: chat({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] }],
    }),
  },
  {
    name: 'input.detail',
    what: 'the same; of files, their rendering',
    in: {
      'responses → messages': part('input_image', { image_url: PNG, detail: 'low' }),
      'responses → chat': part('input_file', { file_data: PDF, detail: 'low' }),
    },
  },
  {
    name: 'messages.name',
    what: '`name` of messages, which tells speakers apart',
    in: chat({ messages: [{ ...HI, name: 'n' }] }),
  },
  {
    name: 'messages.<name>',
    what: 'a field that no message has, such as `provider_specific_fields`; `messages.*` if its name is odd, or the ninth of them',
    in: {
      ...chat(assistant({ provider_specific_fields: { a: 1 } })),
      ...messages(assistant({ provider_specific_fields: { a: 1 } })),
    },
  },
  {
    name: 'messages.tool_calls.<name>',
    what: 'the same in a call, such as `extra_content`',
    in: chat({
      messages: [
        HI,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 't', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: { a: 1 } },
          ],
        },
        { role: 'tool', tool_call_id: 't', content: 'x' },
      ],
    }),
  },
  {
    name: 'input.<name>',
    what: 'the same in a message of `input`, such as `phase`',
    in: responses({ input: [HI, { role: 'assistant', content: 'A', phase: 'commentary' }, HI] }),
  },
  {
    name: 'reasoning_content',
    what: 'past thinking that no host has signed',
    in: chat(assistant({ reasoning_content: 'Hm.' })),
  },
  {
    name: 'input.reasoning',
    what: 'past thinking that this host has not signed',
    in: responses({ input: [HI, FOREIGN, SAID, HI] }),
  },
  {
    name: 'messages.thinking',
    what: 'past thinking that no host of chat has named, which says nothing to another model',
    in: messages(past({ type: 'thinking', thinking: 'x', signature: 'y' })),
  },
  {
    name: 'messages.redacted_thinking',
    what: 'the same',
    in: messages(past({ type: 'redacted_thinking', data: 'z' })),
  },
  {
    name: 'thinking',
    what: 'that it is disabled: few hosts can be told',
    in: messages({ thinking: { type: 'disabled' } }),
  },
  {
    name: 'output_config.effort',
    what: 'the same, of an effort beside it',
    in: messages({ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }),
    with: ['thinking'],
  },
  {
    name: 'temperature',
    what: 'beside thinking, where the host refuses the pair',
    in: {
      ...chat({ ...THINKING, temperature: 0.2 }),
      'responses → messages': { temperature: 0.2, reasoning: { effort: 'low' } },
    },
  },
  {
    name: 'top_p',
    what: 'the same, below 0.95',
    in: {
      ...chat({ ...THINKING, top_p: 0.5 }),
      'responses → messages': { top_p: 0.5, reasoning: { effort: 'low' } },
    },
  },
  { name: 'top_k', what: 'the same', in: chat({ ...THINKING, top_k: 5 }) },
  {
    name: 'reasoning.summary',
    what: 'where the model is not asked to think, or the host has none',
    in: responses({ reasoning: { summary: 'auto' } }),
  },
  { name: 'reasoning.context', what: 'which past thinking is read', in: responses({ reasoning: { context: 'all' } }) },
  {
    name: 'reasoning.generate_summary',
    what: 'an old name of `reasoning.summary`',
    in: responses({ reasoning: { generate_summary: 'auto' } }),
  },
  {
    name: 'cache_control',
    what: 'hosts of chat cache unasked',
    in: messages({
      messages: [{ ...HI, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }],
    }),
  },
  {
    name: 'input.prompt_cache_breakpoint',
    what: 'the same',
    in: { 'responses → chat': part('input_text', { text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } }) },
  },
  {
    name: 'input.prompt_cache_breakpoint.ttl',
    what: 'how long it is kept',
    in: {
      'responses → messages': part('input_text', {
        text: 'Hi',
        prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' },
      }),
    },
  },
  { name: 'prompt_cache_key', what: 'a hint for another cache', in: chat({ prompt_cache_key: 'k' }) },
  {
    name: 'prompt_cache_retention',
    what: 'the same',
    in: { ...chat({ prompt_cache_retention: '24h' }), 'responses → messages': { prompt_cache_retention: '24h' } },
  },
  {
    name: 'prompt_cache_options.ttl',
    what: 'the same; hosts of chat know `30m`',
    in: responses({ prompt_cache_options: { ttl: '1h' } }),
  },
  {
    name: 'context_management',
    what: 'the whole conversation is sent',
    in: {
      ...messages({ context_management: { edits: [] } }),
      ...responses({ context_management: [{ type: 'compaction' }] }),
    },
  },
  {
    name: 'include',
    what: 'more of the answer, but for `message.output_text.logprobs`',
    in: responses({ include: ['reasoning.encrypted_content'] }),
  },
  {
    name: 'stream_options.include_obfuscation',
    what: 'padding of events',
    in: responses({ stream: true, stream_options: { include_obfuscation: true } }),
  },
  { name: 'max_tool_calls', what: 'of tools that no host runs here', in: responses({ max_tool_calls: 3 }) },
  {
    name: 'input.annotations',
    what: 'sources of a past answer',
    in: responses({
      input: [
        HI,
        { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [{ type: 'url_citation' }] }] },
        HI,
      ],
    }),
  },
  {
    name: 'input.logprobs',
    what: 'probabilities of a past answer',
    in: responses({
      input: [
        HI,
        { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [], logprobs: [{}] }] },
        HI,
      ],
    }),
  },
  {
    name: 'tools.defer_loading',
    what: 'how a tool is loaded, and not what it does',
    in: { ...messages({ tools: [{ ...TOOL, defer_loading: true }] }), ...responses(tool({ defer_loading: true })) },
  },
  {
    name: 'tools.eager_input_streaming',
    what: 'the same',
    in: messages({ tools: [{ ...TOOL, eager_input_streaming: true }] }),
  },
  { name: 'tools.async', what: 'the same', in: responses(tool({ async: true })) },
  { name: 'tools.output_schema', what: 'what a tool puts out', in: responses(tool({ output_schema: {} })) },
  {
    name: 'tools.allowed_callers',
    what: 'who calls it: the model',
    in: responses(tool({ allowed_callers: ['direct'] })),
  },
  {
    name: 'web_search',
    what: "a tool of the client's own host, unless the request forces it",
    in: messages({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
  },
  { name: 'tool_search', what: 'the same', in: messages({ tools: [{ type: 'tool_search_tool_bm25', name: 's' }] }) },
  hosted('web_search', 'the same', ['web_search', 'web_search_preview_2025_03_11']),
  hosted('tool_search', 'the same', ['tool_search']),
  {
    name: '<tool>',
    what: "a tool that the provider's `ignore_tools` names, unless the request forces it; 400 otherwise",
    in: messages({ tools: [{ type: 'web_fetch_20260309', name: 'web_fetch' }] }),
    ignoreTools: ['web_fetch'],
  },
  hosted('<tool>', 'the same', ['mcp'], ['file_search', 'mcp']),
  {
    name: 'tool_choice.tools',
    what: 'such tools in a choice of several',
    in: responses({
      tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
      },
    }),
    with: ['tools.web_search'],
  },
];

/** The row of a name that a request on this way has. */
function rowOf(way: Way, name: string): LeftOut | undefined {
  return LEFT_OUT.find((row) => way in row.in && (row.name === name || patternOf(row.name).test(name)));
}

export function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.').replace(/<\w+>/, '(?:[\\w-]+|\\*)')}$`);
}

/** Fails for what no row says. */
export function assertListed(way: Way, ignored: readonly string[]): void {
  for (const name of ignored) assert.ok(rowOf(way, name), `${name} is left out, ${way}, and not in the table`);
}
