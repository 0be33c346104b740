/** The mock's chat-completions dialect. */
import { isObject, objectsIn } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { DONE_EVENT, dataEvent } from '../../wire/sse.ts';
import { type Answer, errorJson, type MockDialect, type MockUsage, type Part, textOf } from './answer.ts';
import {
  jsonFormatIn,
  type MockTool,
  promptsIn,
  RESULT,
  type Reading,
  readTurns,
  type Turn,
  toolChoiceIn,
} from './reading.ts';

export const CHAT_MOCK: MockDialect = {
  idPrefix: 'chatcmpl-',
  read,
  errorBody: errorJson,
  wholeBody,
  startStream: (answer) => ({
    start: () => deltas(answer, { role: 'assistant', content: '' }),
    open: (part) => (part.kind === 'call' ? deltas(answer, { tool_calls: [callHead(answer, part.tool)] }) : ''),
    piece: (part, text) => deltas(answer, deltaOf(part, text)),
    close: () => '',
    end: () => {
      const usage = answer.usage && chunk(answer, { choices: [], usage: usageFields(answer.usage) });
      return deltas(answer, {}, FINISH_REASONS[answer.ending]) + (usage ?? '') + DONE_EVENT;
    },
    failure: (message) => dataEvent(errorJson(500, message)),
  }),
};

const FINISH_REASONS = { stop: 'stop', length: 'length', call: 'tool_calls' } as const;

function read(fields: Fields): Reading {
  const messages = objectsIn(fields.messages);
  const turns = messages.flatMap(({ role, content }): readonly Turn[] => {
    if (role === 'user') return promptsIn(content);
    return role === 'tool' || role === 'function' ? [RESULT] : [];
  });
  return {
    ...readTurns(turns),
    messages: messages.length,
    tools: objectsIn(fields.tools).map(readTool),
    choice: toolChoiceIn(fields.tool_choice, namesIn),
    ...jsonFormatIn(fields.response_format),
  };
}

function namesIn({ function: definition, custom, allowed_tools: allowed }: Fields): readonly unknown[] {
  if (isObject(allowed)) return objectsIn(allowed.tools).flatMap(namesIn);
  return [definition, custom].flatMap((each) => (isObject(each) ? [each.name] : []));
}

function readTool(tool: Fields): MockTool {
  const { type = 'function', function: definition, custom } = tool;
  if (type === 'function' && isObject(definition)) {
    return { name: String(definition.name), kind: 'function', schema: definition.parameters };
  }
  if (type === 'custom' && isObject(custom)) return { name: String(custom.name), kind: 'custom' };
  return { name: String(type), kind: 'host' };
}

function wholeBody(answer: Answer): string {
  const { request, context, parts, usage } = answer;
  const call = parts.find((part) => part.kind === 'call');
  const thinking = textOf(answer, 'thinking');
  const message = {
    role: 'assistant',
    content: call === undefined ? textOf(answer, 'text') : null,
    refusal: null,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(call && { tool_calls: [callOf(answer, call.tool, call.pieces.join(''))] }),
  };
  return JSON.stringify({
    id: context.id,
    object: 'chat.completion',
    created: context.createdS,
    model: request.model,
    choices: Array.from({ length: request.choices }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: FINISH_REASONS[answer.ending],
    })),
    ...(usage && { usage: usageFields(usage) }),
  });
}

function callOf({ context }: Answer, { name, kind }: MockTool, text: string): Fields {
  const id = `call_${context.id}`;
  return kind === 'custom'
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } };
}

function callHead(answer: Answer, tool: MockTool): Fields {
  return { index: 0, ...callOf(answer, tool, '') };
}

function deltaOf(part: Part, text: string): Fields {
  if (part.kind === 'thinking') return { reasoning_content: text };
  if (part.kind === 'text') return { content: text };
  const call = part.tool.kind === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
  return { tool_calls: [{ index: 0, ...call }] };
}

/** Writes a delta once per choice, each in its own event. */
function deltas(answer: Answer, delta: Fields, finishReason: string | null = null): string {
  return Array.from({ length: answer.request.choices }, (_, index) =>
    chunk(answer, { choices: [{ index, delta, finish_reason: finishReason }] }),
  ).join('');
}

function chunk({ request, context }: Answer, fields: Fields): string {
  const head = {
    id: context.id,
    object: 'chat.completion.chunk',
    created: context.createdS,
    model: request.model,
  };
  return dataEvent(JSON.stringify({ ...head, ...fields }));
}

function usageFields({ input, output, cacheRead, cacheWrite, reasoning }: MockUsage): Fields {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cacheRead + cacheWrite > 0 && {
      prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    }),
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
