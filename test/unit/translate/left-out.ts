/** Request fields that translations leave out by intent. The tables in docs/clients.md are generated from them; requests test every row. */
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

const TENDENCY = 'best-effort sampling or style hint';
const NOTE = 'note for the records of another host';
const SEES_ALL = 'image resolution';
const CACHE_HINT = 'cache hint';
const LOADING = 'how a tool is loaded';
const UNNAMED_THINKING = 'past thinking of another host';
const ASKER = 'end user, for the records of another host';
const BESIDE_THINKING = 'with thinking, if the host refuses the combination';
const LOW_BESIDE_THINKING = 'with thinking and below 0.95';
const OWN_TOOL = "tool of the client's own host, unless the request forces it";

function row(name: string, what: string, by: LeftOut['by'], more: Pick<LeftOut, 'with' | 'ignoreTools'> = {}): LeftOut {
  return { name, what, by, ...more };
}

export const LEFT_OUT: readonly LeftOut[] = [
  row('seed', TENDENCY, { chat: { seed: 1 } }),
  row('presence_penalty', TENDENCY, { chat: { presence_penalty: 0.5 } }),
  row('frequency_penalty', TENDENCY, { chat: { frequency_penalty: 0.5 } }),
  row('verbosity', TENDENCY, { chat: { verbosity: 'low' } }),
  row('text.verbosity', TENDENCY, { responses: { text: { verbosity: 'low' } } }),
  row('metadata', NOTE, { chat: { metadata: { a: 'b' } }, responses: { metadata: { a: 'b' } } }),
  row('client_metadata', NOTE, { responses: { client_metadata: { a: 'b' } } }),
  row('image_url.detail', SEES_ALL, {
    chat: {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] }],
    },
  }),
  row('input.detail', SEES_ALL, { responses: part('input_image', { image_url: PNG, detail: 'low' }) }),
  row('input.detail', 'rendering of files', {
    responses: part('input_file', { file_data: PDF, detail: 'low' }),
  }),
  row('messages.name', 'name of the speaker', {
    chat: { messages: [{ ...HI, name: 'n' }] },
  }),
  row(
    'messages.<name>',
    'unknown field, such as `provider_specific_fields`; `messages.*` for odd names and from the ninth on',
    {
      chat: assistant({ provider_specific_fields: { a: 1 } }),
      messages: assistant({ provider_specific_fields: { a: 1 } }),
    },
  ),
  row('messages.tool_calls.<name>', 'unknown field, such as `extra_content`', {
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
  }),
  row('input.<name>', 'unknown field, such as `phase`', {
    responses: { input: [HI, { role: 'assistant', content: 'A', phase: 'commentary' }, HI] },
  }),
  row('reasoning_content', 'unsigned past thinking', { chat: assistant({ reasoning_content: 'Hm.' }) }),
  row('input.reasoning', 'past thinking of another host', {
    responses: { input: [HI, FOREIGN, SAID, HI] },
  }),
  row('messages.thinking', UNNAMED_THINKING, { messages: past({ type: 'thinking', thinking: 'x', signature: 'y' }) }),
  row('messages.redacted_thinking', UNNAMED_THINKING, { messages: past({ type: 'redacted_thinking', data: 'z' }) }),
  row('thinking', '`disabled`', { messages: { thinking: { type: 'disabled' } } }),
  row('reasoning_effort', '`none`', {
    chat: { reasoning_effort: 'none' },
  }),
  row(
    'output_config.effort',
    'effort, with thinking disabled',
    { messages: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } } },
    { with: ['thinking'] },
  ),
  row('temperature', BESIDE_THINKING, {
    chat: { ...THINKING, temperature: 0.2 },
    responses: { temperature: 0.2, reasoning: { effort: 'low' } },
  }),
  row('top_p', LOW_BESIDE_THINKING, {
    chat: { ...THINKING, top_p: 0.5 },
    responses: { top_p: 0.5, reasoning: { effort: 'low' } },
  }),
  row('top_k', BESIDE_THINKING, { chat: { ...THINKING, top_k: 5 } }),
  row('reasoning.summary', 'without thinking, or if the host has no summaries', {
    responses: { reasoning: { summary: 'auto' } },
  }),
  row('reasoning.context', 'selects past thinking to read', { responses: { reasoning: { context: 'all' } } }),
  row('reasoning.generate_summary', 'old name of `reasoning.summary`', {
    responses: { reasoning: { generate_summary: 'auto' } },
  }),
  row('cache_control', 'cache mark, for hosts that cache automatically', {
    chat: { messages: [{ ...HI, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
    messages: {
      messages: [{ ...HI, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }],
    },
  }),
  row('input.prompt_cache_breakpoint', 'cache mark, for hosts that cache automatically', {
    responses: part('input_text', { text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } }),
  }),
  row(
    'input.prompt_cache_breakpoint.ttl',
    'cache hint',
    {
      responses: part('input_text', {
        text: 'Hi',
        prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' },
      }),
    },
    { with: ['input.prompt_cache_breakpoint'] },
  ),
  row('prompt_cache_key', CACHE_HINT, { chat: { prompt_cache_key: 'k' } }),
  row('prompt_cache_retention', CACHE_HINT, {
    chat: { prompt_cache_retention: '24h' },
    responses: { prompt_cache_retention: '24h' },
  }),
  row(
    'prompt_cache_options.ttl',
    'cache hint; chat hosts take `30m`',
    { responses: { prompt_cache_options: { ttl: '1h' } } },
    { with: ['prompt_cache_options'] },
  ),
  row(
    'prompt_cache_options',
    CACHE_HINT,
    { responses: { prompt_cache_options: { ttl: '1h' } } },
    { with: ['prompt_cache_options.ttl'] },
  ),
  row('anthropic_beta', 'beta features of messages hosts', {
    messages: { anthropic_beta: ['a-beta-2026-01-01'] },
  }),
  row('context_management', 'the whole conversation is sent', {
    messages: { context_management: { edits: [] } },
    responses: { context_management: [{ type: 'compaction' }] },
  }),
  row('include', 'additional output, except `message.output_text.logprobs`', {
    responses: { include: ['reasoning.encrypted_content'] },
  }),
  row('stream_options.include_obfuscation', 'padding of events', {
    responses: { stream: true, stream_options: { include_obfuscation: true } },
  }),
  row('max_tool_calls', "limit for tools of the client's own host", { responses: { max_tool_calls: 3 } }),
  row('input.annotations', 'sources of a past answer', {
    responses: {
      input: [
        HI,
        { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [{ type: 'url_citation' }] }] },
        HI,
      ],
    },
  }),
  row('input.logprobs', 'probabilities of a past answer', {
    responses: {
      input: [
        HI,
        { role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [], logprobs: [{}] }] },
        HI,
      ],
    },
  }),
  row('tools.defer_loading', LOADING, {
    messages: { tools: [{ ...TOOL, defer_loading: true }] },
    responses: tool({ defer_loading: true }),
  }),
  row('tools.eager_input_streaming', LOADING, { messages: { tools: [{ ...TOOL, eager_input_streaming: true }] } }),
  row('tools.async', LOADING, { responses: tool({ async: true }) }),
  row('tools.output_schema', 'output schema of a tool', { responses: tool({ output_schema: {} }) }),
  row('tools.allowed_callers', 'caller of a tool', { responses: tool({ allowed_callers: ['direct'] }) }),
  row('web_search', OWN_TOOL, { messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } }),
  row('tool_search', OWN_TOOL, { messages: { tools: [{ type: 'tool_search_tool_bm25', name: 's' }] } }),
  hosted('web_search', OWN_TOOL, ['web_search', 'web_search_preview_2025_03_11']),
  hosted('tool_search', OWN_TOOL, ['tool_search']),
  row(
    '<tool>',
    "tool in the provider's `ignore_tools`, unless the request forces it; otherwise 400",
    { messages: { tools: [{ type: 'web_fetch_20260309', name: 'web_fetch' }] } },
    { ignoreTools: ['web_fetch'] },
  ),
  hosted(
    '<tool>',
    "tool in the provider's `ignore_tools`, unless the request forces it; otherwise 400",
    ['mcp'],
    ['file_search', 'mcp'],
  ),
  row(
    'tool_choice.tools',
    'such tools in a choice of several',
    {
      responses: {
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
        },
      },
    },
    { with: ['tools.web_search'] },
  ),
  row('parallel_tool_calls', '`false`: one call at a time', {
    chat: { ...FUNCTIONS.chat, parallel_tool_calls: false },
    messages: { ...FUNCTIONS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    responses: { ...FUNCTIONS.responses, parallel_tool_calls: false },
  }),
  row('tools.strict', 'arguments follow the schema exactly', STRICT),
  row('user', ASKER, USERS),
  row('safety_identifier', ASKER, { chat: SAFETY, responses: SAFETY }),
  row('messages.thinking_blocks', 'past thinking of another host', { chat: BLOCKS }),
  row('safetySettings', "Google's filters", { gemini: { safetySettings: [{ category: 'a' }] } }),
  row('labels', "note for Google's bill", { gemini: { labels: { a: 'b' } } }),
  row('generationConfig.seed', TENDENCY, { gemini: config({ seed: 1 }) }),
  row('generationConfig.presencePenalty', TENDENCY, { gemini: config({ presencePenalty: 0.5 }) }),
  row('generationConfig.frequencyPenalty', TENDENCY, { gemini: config({ frequencyPenalty: 0.5 }) }),
  row('generationConfig.mediaResolution', SEES_ALL, { gemini: config({ mediaResolution: 'MEDIA_RESOLUTION_LOW' }) }),
  row('generationConfig.topK', 'sampling bound', { gemini: config({ topK: 5 }) }),
  row('generationConfig.temperature', BESIDE_THINKING, {
    gemini: config({ temperature: 0.2, thinkingConfig: { thinkingBudget: 8_192 } }),
  }),
  row('generationConfig.topP', LOW_BESIDE_THINKING, {
    gemini: config({ topP: 0.5, thinkingConfig: { thinkingBudget: 8_192 } }),
  }),
  row('generationConfig.thinkingConfig', 'no thinking', {
    gemini: config({ thinkingConfig: { thinkingBudget: 0 } }),
  }),
  row('contents.parts.thought', 'past thinking of another host', {
    gemini: answered({ text: 'x', thought: true }),
  }),
  row('contents.parts.thoughtSignature', 'past thinking of another host', {
    gemini: answered({ text: 'A', thoughtSignature: 'c2ln' }),
  }),
  row(
    'tools.<tool>',
    "tool in the provider's `ignore_tools`; otherwise 400",
    { gemini: { tools: [{ googleSearch: {} }] } },
    { ignoreTools: ['google_search'] },
  ),
];

export function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.').replace(/<\w+>/, '(?:[\\w-]+|\\*)')}$`);
}
