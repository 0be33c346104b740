/** What the official client libraries read in a stream or an answer, said alike for all dialects; hosts of Google's and of Converse are read here. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { isObject, parseJson } from '../../../src/core/json.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import { blockOfSignature, blocksInSignature } from '../../../src/translate/thought-signature.ts';
import type { Speaker } from './recordings.ts';

/** An answer. */
export interface Reading {
  readonly text: string;
  readonly refusal: string;
  readonly thinking: string;
  /** Signatures, and thinking that is encrypted: what a client gives back unread. */
  readonly seals: readonly string[];
  readonly calls: readonly Call[];
  readonly citations: number;
  /** The types of blocks or items that are none of these. */
  readonly others: readonly string[];
  readonly finish: string | undefined;
  readonly usage: Usage | undefined;
}

interface Call {
  readonly id: unknown;
  readonly name: unknown;
  /** Parsed, if they are JSON. */
  readonly arguments: unknown;
}

/** Tokens. The input includes what was cached and written, the output its reasoning. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Reads a stream to its end. Throws what the library throws. */
export const READERS: Readonly<Record<Speaker, (stream: string) => Promise<Reading>>> = {
  chat: readChat,
  messages: readMessages,
  responses: readResponses,
  gemini: readGemini,
  converse: readConverse,
};

/** Reads a whole answer. */
export const ANSWER_READERS: Readonly<Record<Speaker, (json: string) => Promise<Reading>>> = {
  chat: async (json) => {
    const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: answering(json, 'application/json') });
    const answer: unknown = await client.chat.completions.create({ model: 'a', messages: USER });
    const { choices, usage } = answer as Fields;
    return chatReading(
      list(choices).map(({ message, ...rest }) => ({ ...rest, delta: message })),
      usage,
    );
  },
  messages: async (json) => {
    const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: answering(json, 'application/json') });
    const message: unknown = await client.messages.create({ model: 'a', max_tokens: 1, messages: USER });
    return messageReading(message as Fields);
  },
  responses: async (json) => {
    const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: answering(json, 'application/json') });
    const response: unknown = await client.responses.create({ model: 'a', input: 'Hello' });
    return responseReading(response as Fields);
  },
  gemini: async (json) => geminiReading([JSON.parse(json)]),
  converse: async (json) => {
    const { output, stopReason, usage } = JSON.parse(json) as Fields;
    return converseReading(list(fieldsIn(output, 'message').content), stopReason, usage);
  },
};

function answering(body: string, type = 'text/event-stream'): () => Promise<Response> {
  return async () => new Response(body, { headers: { 'content-type': type } });
}

const USER = [{ role: 'user' as const, content: 'Hello' }];
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const count = (value: unknown) => (typeof value === 'number' ? value : 0);
const sealed = (values: readonly unknown[]) => values.map(text).filter((value) => value !== '');
const fieldsIn = (value: unknown, name: string): Fields =>
  isObject(value) && isObject(value[name]) ? value[name] : {};

function parsed(json: string): unknown {
  return json === '' ? {} : (parseJson(json)?.value ?? json);
}

interface ChatCall {
  id: string;
  name: string;
  json: string;
}

/** The first choice. The library's own helper does not join fields that it does not know, such as reasoning. */
async function readChat(stream: string): Promise<Reading> {
  const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: answering(stream) });
  const chunks = await client.chat.completions.create({ model: 'a', messages: USER, stream: true });
  const choices: Fields[] = [];
  let usage: unknown;
  for await (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    const choice: unknown = chunk.choices?.find(({ index }) => index === 0);
    if (isObject(choice)) choices.push(choice);
  }
  return chatReading(choices, usage);
}

/** `choices`: the pieces of one. */
function chatReading(choices: readonly Fields[], usage: unknown): Reading {
  const written = { text: '', refusal: '', thinking: '' };
  const calls: ChatCall[] = [];
  const blocks: Fields[] = [];
  let citations = 0;
  let finish = '';
  for (const choice of choices) {
    const delta = isObject(choice.delta) ? choice.delta : {};
    written.text += text(delta.content);
    written.refusal += text(delta.refusal);
    written.thinking += text(delta.reasoning_content) || text(delta.reasoning);
    blocks.push(...list(delta.thinking_blocks));
    citations += list(delta.annotations).length;
    for (const [position, call] of list(delta.tool_calls).entries()) addCall(calls, { index: position, ...call });
    finish = text(choice.finish_reason) || finish;
  }
  return {
    ...written,
    seals: sealed(blocks.map(({ signature, data }) => signature ?? data)),
    calls: calls.map(({ id, name, json }) => ({ id, name, arguments: parsed(json) })),
    citations,
    others: [],
    finish: finish === '' ? undefined : (CHAT_FINISHES[finish] ?? finish),
    usage: isObject(usage) ? chatUsage(usage) : undefined,
  };
}

const CHAT_FINISHES: Readonly<Record<string, string>> = { tool_calls: 'calls', content_filter: 'refused' };

function addCall(calls: ChatCall[], { index, id, function: definition }: Fields): void {
  const { name, arguments: json } = isObject(definition) ? definition : {};
  const at = count(index);
  const call = calls[at] ?? { id: '', name: '', json: '' };
  calls[at] = { id: call.id || text(id), name: call.name || text(name), json: call.json + text(json) };
}

function chatUsage(usage: Fields): Usage {
  const input = fieldsIn(usage, 'prompt_tokens_details');
  return {
    input: count(usage.prompt_tokens),
    cached: count(input.cached_tokens),
    written: count(input.cache_write_tokens),
    output: count(usage.completion_tokens),
    reasoning: count(fieldsIn(usage, 'completion_tokens_details').reasoning_tokens),
  };
}

async function readMessages(stream: string): Promise<Reading> {
  const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: answering(stream) });
  const message: unknown = await client.messages.stream({ model: 'a', max_tokens: 1, messages: USER }).finalMessage();
  return messageReading(message as Fields);
}

function messageReading({ content, stop_reason: reason, stop_details: details, usage }: Fields): Reading {
  const blocks = list(content);
  const joined = (type: string) => blocks.map((block) => (block.type === type ? text(block[type]) : '')).join('');
  return {
    text: joined('text'),
    refusal: isObject(details) ? text(details.explanation) : '',
    thinking: joined('thinking'),
    seals: sealed(blocks.map(({ type, signature, data }) => (type === 'redacted_thinking' ? data : signature))),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({ id, name, arguments: input })),
    citations: blocks.reduce((sum, { citations }) => sum + list(citations).length, 0),
    others: blocks.map(({ type }) => String(type)).filter((type) => !MESSAGE_BLOCKS.includes(type)),
    finish: MESSAGE_FINISHES[String(reason)] ?? (typeof reason === 'string' ? reason : undefined),
    usage: isObject(usage) ? messageUsage(usage) : undefined,
  };
}

const MESSAGE_BLOCKS = ['text', 'thinking', 'redacted_thinking', 'tool_use'];
const MESSAGE_FINISHES: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'calls',
  max_tokens: 'length',
  refusal: 'refused',
};

function messageUsage(usage: Fields): Usage {
  const [cached, written] = [count(usage.cache_read_input_tokens), count(usage.cache_creation_input_tokens)];
  return {
    input: count(usage.input_tokens) + cached + written,
    cached,
    written,
    output: count(usage.output_tokens),
    reasoning: count(fieldsIn(usage, 'output_tokens_details').thinking_tokens),
  };
}

/** What the last event holds. Throws if the stream has none, or says that it has failed. */
async function readResponses(stream: string): Promise<Reading> {
  const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: answering(stream) });
  let last: Fields | undefined;
  for await (const event of await client.responses.create({ model: 'a', input: 'Hello', stream: true })) {
    if (event.type === 'response.failed') throw new Error(event.response.error?.message);
    if ('response' in event) last = { type: event.type, ...event.response };
  }
  if (last?.type === undefined || last.status === 'in_progress') throw new Error('the stream has no end');
  return responseReading(last);
}

function responseReading({ output, status, incomplete_details: details, usage }: Fields): Reading {
  const items = list(output);
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => list(content));
  const thoughts = items
    .filter(({ type }) => type === 'reasoning')
    .flatMap(({ summary, content }) => [...list(summary), ...list(content)]);
  const calls = items.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call');
  const reason = isObject(details) ? String(details.reason) : '';
  return {
    text: parts.map((part) => text(part.text)).join(''),
    refusal: parts.map(({ refusal }) => text(refusal)).join(''),
    thinking: thoughts.map((part) => text(part.text)).join(''),
    seals: sealed(items.map(({ type, encrypted_content: content }) => (type === 'reasoning' ? sealOf(content) : ''))),
    calls: calls.map(({ call_id: id, name, arguments: json, input }) => ({
      id,
      name,
      arguments: typeof input === 'string' ? input : parsed(text(json)),
    })),
    citations: parts.reduce((sum, { annotations }) => sum + list(annotations).length, 0),
    others: items.map(({ type }) => String(type)).filter((type) => !RESPONSE_ITEMS.includes(type)),
    finish: status === 'completed' ? (calls.length > 0 ? 'calls' : 'stop') : (RESPONSE_FINISHES[reason] ?? reason),
    usage: isObject(usage) ? responseUsage(usage) : undefined,
  };
}

const RESPONSE_ITEMS = ['message', 'reasoning', 'function_call', 'custom_tool_call'];
const RESPONSE_FINISHES: Readonly<Record<string, string>> = { max_output_tokens: 'length', content_filter: 'refused' };

function sealOf(content: unknown): unknown {
  const block = thinkingBlock(content);
  return block === undefined ? content : (block.signature ?? block.data);
}

function responseUsage(usage: Fields): Usage {
  const input = fieldsIn(usage, 'input_tokens_details');
  return {
    input: count(usage.input_tokens),
    cached: count(input.cached_tokens),
    written: count(input.cache_write_tokens),
    output: count(usage.output_tokens),
    reasoning: count(fieldsIn(usage, 'output_tokens_details').reasoning_tokens),
  };
}

/** As Google's library reads a stream: each event by itself. */
async function readGemini(stream: string): Promise<Reading> {
  const events = stream.split(/\r?\n\r?\n/).filter((event) => event.startsWith('data:'));
  const pieces = events.map((event) => JSON.parse(event.slice('data:'.length)) as Fields);
  const failure = pieces.map(({ error }) => error).find(isObject);
  if (failure !== undefined) throw new Error(text(failure.message));
  return geminiReading(pieces);
}

function geminiReading(pieces: readonly Fields[]): Reading {
  const candidates = pieces.flatMap((piece) => list(piece.candidates).slice(0, 1));
  const parts = candidates.flatMap(({ content }) => list(fieldsIn({ content }, 'content').parts));
  const calls = parts.flatMap(({ functionCall }) => (isObject(functionCall) ? [functionCall] : []));
  const said = (isThought: boolean) =>
    parts.map((part) => ((part.thought === true) === isThought ? text(part.text) : '')).join('');
  const isBlocked = pieces.some((piece) => fieldsIn(piece, 'promptFeedback').blockReason !== undefined);
  const reason = isBlocked ? 'SAFETY' : candidates.map(({ finishReason }) => text(finishReason)).findLast(Boolean);
  const ended = reason === 'STOP' ? (calls.length > 0 ? 'calls' : 'stop') : reason;
  return {
    text: said(false),
    refusal: pieces.map((piece) => text(fieldsIn(piece, 'promptFeedback').blockReasonMessage)).join(''),
    thinking: said(true),
    seals: parts.flatMap(({ thoughtSignature }) => sealsIn(thoughtSignature)),
    calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    citations: 0,
    others: [],
    finish: ended === undefined ? undefined : (GEMINI_FINISHES[ended] ?? ended),
    usage: geminiUsage(pieces.map(({ usageMetadata }) => usageMetadata).findLast(isObject)),
  };
}

const GEMINI_FINISHES: Readonly<Record<string, string>> = { MAX_TOKENS: 'length', SAFETY: 'refused' };

/** Of another host, in a signature of ours; or Google's own, as blocks of thinking hold it. */
function sealsIn(signature: unknown): readonly string[] {
  if (signature === undefined) return [];
  const blocks = blocksInSignature(signature) ?? [blockOfSignature(text(signature))];
  return blocks.map(({ signature, data }) => text(signature ?? data));
}

function geminiUsage(usage: Fields | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const reasoning = count(usage.thoughtsTokenCount);
  return {
    input: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cached: count(usage.cachedContentTokenCount),
    written: 0,
    output: count(usage.candidatesTokenCount) + reasoning,
    reasoning,
  };
}

/** Events are joined to the blocks of the whole answer. */
async function readConverse(stream: string): Promise<Reading> {
  const blocks: Fields[] = [];
  let stopReason: unknown;
  let usage: unknown;
  for (const line of stream.split('\n').filter((each) => each.startsWith('data:'))) {
    const event = JSON.parse(line.slice('data:'.length)) as Fields;
    const {
      contentBlockIndex: index,
      start,
      delta,
    } = { ...(event.contentBlockStart ?? event.contentBlockDelta ?? {}) } as Fields;
    if (typeof index === 'number') blocks[index] = joined(blocks[index] ?? {}, { ...(start ?? delta ?? {}) } as Fields);
    stopReason ??= fieldsIn(event, 'messageStop').stopReason;
    usage ??= fieldsIn(event, 'metadata').usage;
  }
  const whole = blocks.map(({ toolUse, reasoningContent: thought, ...block }) => ({
    ...block,
    ...(isObject(toolUse) && { toolUse: { ...toolUse, input: parsed(text(toolUse.input)) } }),
    ...(isObject(thought) && { reasoningContent: { reasoningText: thought } }),
  }));
  return converseReading(whole, stopReason, usage);
}

/** Texts one behind the other, at any depth. */
function joined(before: Fields, piece: Fields): Fields {
  const members = Object.entries(piece).map(([name, value]) => {
    const old = before[name];
    return [name, isObject(value) ? joined(isObject(old) ? old : {}, value) : text(old) + text(value)];
  });
  return { ...before, ...Object.fromEntries(members) };
}

function converseReading(blocks: readonly Fields[], stopReason: unknown, usage: unknown): Reading {
  const thoughts = blocks.map((block) => fieldsIn(fieldsIn({ block }, 'block').reasoningContent, 'reasoningText'));
  const calls = blocks.flatMap(({ toolUse }) => (isObject(toolUse) ? [toolUse] : []));
  return {
    text: blocks.map((block) => text(block.text)).join(''),
    refusal: '',
    thinking: thoughts.map((thought) => text(thought.text)).join(''),
    seals: sealed(thoughts.map(({ signature }) => signature)),
    calls: calls.map(({ toolUseId: id, name, input }) => ({ id, name, arguments: input })),
    citations: 0,
    others: [],
    finish: MESSAGE_FINISHES[String(stopReason)],
    usage: isObject(usage) ? converseUsage(usage) : undefined,
  };
}

function converseUsage(usage: Fields): Usage {
  const [cached, written] = [count(usage.cacheReadInputTokens), count(usage.cacheWriteInputTokens)];
  const input = count(usage.inputTokens) + cached + written;
  return { input, cached, written, output: count(usage.outputTokens), reasoning: 0 };
}
