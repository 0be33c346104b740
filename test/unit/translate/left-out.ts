/**
 * What translations leave out of requests by intent: the table in docs/clients.md is printed from here, and every row is
 * proved by requests.
 */
import type { Fields } from '../../../src/dialects/dialect.ts';

/** The clients whose requests are translated, and the dialects of hosts that they are translated for. */
export const CLIENTS = ['chat', 'messages', 'responses', 'gemini'] as const;
export const HOSTS = ['chat', 'messages', 'gemini', 'converse'] as const;
export type Client = (typeof CLIENTS)[number];
export type Host = (typeof HOSTS)[number];

export interface LeftOut {
  /** As the header has it. `<name>` stands for what the sender or the config has written. */
  readonly name: string;
  readonly what: string;
  /** Fields of a request that has it, for each client whose format can say it. */
  readonly by: Partial<Readonly<Record<Client, Fields>>>;
  /** What may be left out of the same requests. */
  readonly with?: readonly string[];
  readonly ignoreTools?: readonly string[];
}

const HI = { role: 'user', content: 'Hi' };

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
  by: { responses: { tools: types.map((type) => ({ type })) } },
  ...(ignoreTools && { ignoreTools }),
});

const FUNCTIONS = {
  chat: { tools: [{ type: 'function', function: { name: 'a' } }] },
  messages: { tools: [TOOL] },
  responses: tool({}),
};
const STRICT = {
  chat: { tools: [{ type: 'function', function: { name: 'a', strict: true } }] },
  messages: { tools: [{ ...TOOL, strict: true }] },
  responses: tool({ strict: true }),
};
const answered = (part: Fields) => ({
  contents: [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [part, { text: 'B' }] },
    { role: 'user', parts: [{ text: 'Hi' }] },
  ],
});
const USERS = { chat: { user: 'u' }, messages: { metadata: { user_id: 'u' } }, responses: { user: 'u' } };
const SAFETY = { safety_identifier: 's' };
const BLOCKS = assistant({ thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'y' }] });
const config = (fields: Fields) => ({ generationConfig: fields });

export const LEFT_OUT: readonly LeftOut[] = [
  { name: 'seed', what: 'a tendency, to which no answer can be held', by: { chat: { seed: 1 } } },
  {
    name: 'presence_penalty',
    what: 'a tendency, to which no answer can be held',
    by: { chat: { presence_penalty: 0.5 } },
  },
  {
    name: 'frequency_penalty',
    what: 'a tendency, to which no answer can be held',
    by: { chat: { frequency_penalty: 0.5 } },
  },
  { name: 'verbosity', what: 'a tendency, to which no answer can be held', by: { chat: { verbosity: 'low' } } },
  {
    name: 'text.verbosity',
    what: 'a tendency, to which no answer can be held',
    by: { responses: { text: { verbosity: 'low' } } },
  },
  {
    name: 'metadata',
    what: 'a note for the records of another host',
    by: { chat: { metadata: { a: 'b' } }, responses: { metadata: { a: 'b' } } },
  },
  {
    name: 'client_metadata',
    what: 'a note for the records of another host',
    by: { responses: { client_metadata: { a: 'b' } } },
  },
  {
    name: 'image_url.detail',
    what: 'the host sees as much of an image as it can',
    by: {
      chat: {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] }],
      },
    },
  },
  {
    name: 'input.detail',
    what: 'the host sees as much of an image as it can',
    by: { responses: part('input_image', { image_url: PNG, detail: 'low' }) },
  },
  {
    name: 'input.detail',
    what: 'of files, their rendering',
    by: { responses: part('input_file', { file_data: PDF, detail: 'low' }) },
  },
  {
    name: 'messages.name',
    what: '`name` of messages, which tells speakers apart',
    by: { chat: { messages: [{ ...HI, name: 'n' }] } },
  },
  {
    name: 'messages.<name>',
    what: 'a field that no message has, such as `provider_specific_fields`; `messages.*` if its name is odd, or the ninth of them',
    by: {
      chat: assistant({ provider_specific_fields: { a: 1 } }),
      messages: assistant({ provider_specific_fields: { a: 1 } }),
    },
  },
  {
    name: 'messages.tool_calls.<name>',
    what: 'a field that no call has, such as `extra_content`',
    by: {
      chat: {
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
      },
    },
  },
  {
    name: 'input.<name>',
    what: 'a field that no message of `input` has, such as `phase`',
    by: { responses: { input: [HI, { role: 'assistant', content: 'A', phase: 'commentary' }, HI] } },
  },
  {
    name: 'reasoning_content',
    what: 'past thinking that no host has signed',
    by: { chat: assistant({ reasoning_content: 'Hm.' }) },
  },
  {
    name: 'input.reasoning',
    what: 'past thinking that this host has not signed',
    by: { responses: { input: [HI, FOREIGN, SAID, HI] } },
  },
  {
    name: 'messages.thinking',
    what: 'past thinking that no host of chat has named, which says nothing to another model',
    by: { messages: past({ type: 'thinking', thinking: 'x', signature: 'y' }) },
  },
  {
    name: 'messages.redacted_thinking',
    what: 'past thinking that no host of chat has named, which says nothing to another model',
    by: { messages: past({ type: 'redacted_thinking', data: 'z' }) },
  },
  {
    name: 'thinking',
    what: 'that it is disabled: few hosts can be told',
    by: { messages: { thinking: { type: 'disabled' } } },
  },
  {
    name: 'reasoning_effort',
    what: 'that none is wished, of a model that cannot help it',
    by: { chat: { reasoning_effort: 'none' } },
  },
  {
    name: 'output_config.effort',
    what: 'an effort beside that',
    by: { messages: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } } },
    with: ['thinking'],
  },
  {
    name: 'temperature',
    what: 'beside thinking, where the host refuses the pair',
    by: {
      chat: { ...THINKING, temperature: 0.2 },
      responses: { temperature: 0.2, reasoning: { effort: 'low' } },
    },
  },
  {
    name: 'top_p',
    what: 'beside thinking, where the host refuses the pair, below 0.95',
    by: {
      chat: { ...THINKING, top_p: 0.5 },
      responses: { top_p: 0.5, reasoning: { effort: 'low' } },
    },
  },
  { name: 'top_k', what: 'beside thinking, where the host refuses the pair', by: { chat: { ...THINKING, top_k: 5 } } },
  {
    name: 'reasoning.summary',
    what: 'where the model is not asked to think, or the host has none',
    by: { responses: { reasoning: { summary: 'auto' } } },
  },
  {
    name: 'reasoning.context',
    what: 'which past thinking is read',
    by: { responses: { reasoning: { context: 'all' } } },
  },
  {
    name: 'reasoning.generate_summary',
    what: 'an old name of `reasoning.summary`',
    by: { responses: { reasoning: { generate_summary: 'auto' } } },
  },
  {
    name: 'cache_control',
    what: 'a mark of what to cache, where the host caches unasked',
    by: {
      chat: { messages: [{ ...HI, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      messages: {
        messages: [{ ...HI, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }],
      },
    },
  },
  {
    name: 'input.prompt_cache_breakpoint',
    what: 'hosts of chat cache unasked',
    by: { responses: part('input_text', { text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } }) },
  },
  {
    name: 'input.prompt_cache_breakpoint.ttl',
    what: 'how long it is kept',
    by: {
      responses: part('input_text', {
        text: 'Hi',
        prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' },
      }),
    },
    with: ['input.prompt_cache_breakpoint'],
  },
  { name: 'prompt_cache_key', what: 'a hint for another cache', by: { chat: { prompt_cache_key: 'k' } } },
  {
    name: 'prompt_cache_retention',
    what: 'a hint for another cache',
    by: { chat: { prompt_cache_retention: '24h' }, responses: { prompt_cache_retention: '24h' } },
  },
  {
    name: 'prompt_cache_options.ttl',
    what: 'a hint for another cache; hosts of chat know `30m`',
    by: { responses: { prompt_cache_options: { ttl: '1h' } } },
    with: ['prompt_cache_options'],
  },
  {
    name: 'prompt_cache_options',
    what: 'a hint for another cache',
    by: { responses: { prompt_cache_options: { ttl: '1h' } } },
    with: ['prompt_cache_options.ttl'],
  },
  {
    name: 'context_management',
    what: 'the whole conversation is sent',
    by: {
      messages: { context_management: { edits: [] } },
      responses: { context_management: [{ type: 'compaction' }] },
    },
  },
  {
    name: 'include',
    what: 'more of the answer, but for `message.output_text.logprobs`',
    by: { responses: { include: ['reasoning.encrypted_content'] } },
  },
  {
    name: 'stream_options.include_obfuscation',
    what: 'padding of events',
    by: { responses: { stream: true, stream_options: { include_obfuscation: true } } },
  },
  { name: 'max_tool_calls', what: 'of tools that no host runs here', by: { responses: { max_tool_calls: 3 } } },
  {
    name: 'input.annotations',
    what: 'sources of a past answer',
    by: {
      responses: {
        input: [
          HI,
          { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [{ type: 'url_citation' }] }] },
          HI,
        ],
      },
    },
  },
  {
    name: 'input.logprobs',
    what: 'probabilities of a past answer',
    by: {
      responses: {
        input: [
          HI,
          { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [], logprobs: [{}] }] },
          HI,
        ],
      },
    },
  },
  {
    name: 'tools.defer_loading',
    what: 'how a tool is loaded, and not what it does',
    by: { messages: { tools: [{ ...TOOL, defer_loading: true }] }, responses: tool({ defer_loading: true }) },
  },
  {
    name: 'tools.eager_input_streaming',
    what: 'how a tool is loaded, and not what it does',
    by: { messages: { tools: [{ ...TOOL, eager_input_streaming: true }] } },
  },
  { name: 'tools.async', what: 'how a tool is loaded, and not what it does', by: { responses: tool({ async: true }) } },
  { name: 'tools.output_schema', what: 'what a tool puts out', by: { responses: tool({ output_schema: {} }) } },
  {
    name: 'tools.allowed_callers',
    what: 'who calls it: the model',
    by: { responses: tool({ allowed_callers: ['direct'] }) },
  },
  {
    name: 'web_search',
    what: "a tool of the client's own host, unless the request forces it",
    by: { messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } },
  },
  {
    name: 'tool_search',
    what: "a tool of the client's own host, unless the request forces it",
    by: { messages: { tools: [{ type: 'tool_search_tool_bm25', name: 's' }] } },
  },
  hosted('web_search', "a tool of the client's own host, unless the request forces it", [
    'web_search',
    'web_search_preview_2025_03_11',
  ]),
  hosted('tool_search', "a tool of the client's own host, unless the request forces it", ['tool_search']),
  {
    name: '<tool>',
    what: "a tool that the provider's `ignore_tools` names, unless the request forces it; 400 otherwise",
    by: { messages: { tools: [{ type: 'web_fetch_20260309', name: 'web_fetch' }] } },
    ignoreTools: ['web_fetch'],
  },
  hosted(
    '<tool>',
    "a tool that the provider's `ignore_tools` names, unless the request forces it; 400 otherwise",
    ['mcp'],
    ['file_search', 'mcp'],
  ),
  {
    name: 'tool_choice.tools',
    what: 'such tools in a choice of several',
    by: {
      responses: {
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
        },
      },
    },
    with: ['tools.web_search'],
  },
  {
    name: 'parallel_tool_calls',
    what: 'that calls come one by one',
    by: {
      chat: { ...FUNCTIONS.chat, parallel_tool_calls: false },
      messages: { ...FUNCTIONS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { ...FUNCTIONS.responses, parallel_tool_calls: false },
    },
  },
  { name: 'tools.strict', what: 'that arguments follow the schema of their tool to the letter', by: STRICT },
  { name: 'user', what: 'who asks, for the records of another host', by: USERS },
  {
    name: 'safety_identifier',
    what: 'who asks, for the records of another host',
    by: { chat: SAFETY, responses: SAFETY },
  },
  { name: 'messages.thinking_blocks', what: 'past thinking that this host has not signed', by: { chat: BLOCKS } },
  { name: 'safetySettings', what: "filters of Google's", by: { gemini: { safetySettings: [{ category: 'a' }] } } },
  { name: 'labels', what: "a note for Google's bill", by: { gemini: { labels: { a: 'b' } } } },
  {
    name: 'generationConfig.seed',
    what: 'a tendency, to which no answer can be held',
    by: { gemini: config({ seed: 1 }) },
  },
  {
    name: 'generationConfig.presencePenalty',
    what: 'a tendency, to which no answer can be held',
    by: { gemini: config({ presencePenalty: 0.5 }) },
  },
  {
    name: 'generationConfig.frequencyPenalty',
    what: 'a tendency, to which no answer can be held',
    by: { gemini: config({ frequencyPenalty: 0.5 }) },
  },
  {
    name: 'generationConfig.mediaResolution',
    what: 'the host sees as much of an image as it can',
    by: { gemini: config({ mediaResolution: 'MEDIA_RESOLUTION_LOW' }) },
  },
  { name: 'generationConfig.topK', what: 'a bound that few hosts know', by: { gemini: config({ topK: 5 }) } },
  {
    name: 'generationConfig.thinkingConfig',
    what: 'that none is wished: few hosts can be told',
    by: { gemini: config({ thinkingConfig: { thinkingBudget: 0 } }) },
  },
  {
    name: 'contents.parts.thought',
    what: 'past thinking, which says nothing to another model',
    by: { gemini: answered({ text: 'x', thought: true }) },
  },
  {
    name: 'contents.parts.thoughtSignature',
    what: "Google's signature of it",
    by: { gemini: answered({ text: 'A', thoughtSignature: 'c2ln' }) },
  },
  {
    name: 'tools.<tool>',
    what: "a tool that the provider's `ignore_tools` names; 400 otherwise",
    by: { gemini: { tools: [{ googleSearch: {} }] } },
    ignoreTools: ['google_search'],
  },
];

export function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.').replace(/<\w+>/, '(?:[\\w-]+|\\*)')}$`);
}
