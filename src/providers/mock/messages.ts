/** The mock provider's requests and answers in the messages dialect. */
import { isObject, objectsIn, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { errorTypeOf } from '../../dialects/messages/messages-errors.ts';
import { type Answer, type MockContext, type MockDialect, type Part, type StreamWriter, typedEvent } from './answer.ts';
import {
  jsonFormatIn,
  type MockTool,
  promptsIn,
  RESULT,
  type Reading,
  readTurns,
  type ToolChoice,
  type Turn,
} from './reading.ts';

export const MESSAGES_MOCK: MockDialect = { idPrefix: 'msg_', read, errorBody, wholeBody, startStream };

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', call: 'tool_use' } as const;

function read(fields: Fields): Reading {
  const messages = objectsIn(fields.messages);
  const turns = messages.flatMap(({ role, content }) => (role === 'user' ? turnsIn(content) : []));
  const { output_config: output, output_format: former } = fields;
  return {
    ...readTurns(turns),
    messages: messages.length,
    tools: objectsIn(fields.tools).map(readTool),
    choice: readChoice(fields.tool_choice),
    ...jsonFormatIn((isObject(output) ? output.format : undefined) ?? former),
  };
}

function readChoice(choice: unknown): ToolChoice {
  if (!isObject(choice)) return { kind: 'auto' };
  const { type, name } = choice;
  if (type === 'tool') return { kind: 'any', names: [String(name)] };
  return { kind: type === 'any' || type === 'none' ? type : 'auto' };
}

/** Results come with a prompt only if there is text beside them. */
function turnsIn(content: unknown): readonly Turn[] {
  const results = objectsIn(content).flatMap(({ type }) => (type === 'tool_result' ? [RESULT] : []));
  const prompts = promptsIn(content);
  return results.length === 0
    ? prompts
    : [...results, ...prompts.filter((turn) => turn.kind === 'prompt' && turn.text !== '')];
}

/** Tools that Anthropic defines and clients run. */
const CLIENT_TOOL = /^(?:custom$|bash_|computer_|memory_|text_editor_)/;

function readTool({ name, type, input_schema: schema }: Fields): MockTool {
  const isForClients = (type ?? undefined) === undefined || CLIENT_TOOL.test(String(type));
  return { name: String(name ?? type), kind: isForClients ? 'function' : 'host', schema };
}

function errorFields(status: number, message: string, { id }: MockContext) {
  return { type: 'error', error: { type: errorTypeOf(status), message }, request_id: `req_${id}` };
}

function errorBody(status: number, message: string, context: MockContext): string {
  return JSON.stringify(errorFields(status, message, context));
}

function wholeBody(answer: Answer): string {
  const { context, parts, ending } = answer;
  const content = parts.map((part) => blockOf(part, context, part.pieces.join('')));
  return JSON.stringify(messageOf(answer, content, STOP_REASONS[ending], outputUsage(answer)));
}

function messageOf(answer: Answer, content: readonly Fields[], stopReason: string | null, output: Fields): Fields {
  const { request, context } = answer;
  return {
    id: context.id,
    type: 'message',
    role: 'assistant',
    model: request.model,
    container: null,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    stop_details: null,
    // Even without figures: the official client libraries write into it.
    usage: { ...inputUsage(answer), ...lifetimes(answer), ...output },
  };
}

/** What was read from the cache or written to it is not part of `input_tokens`. */
function inputUsage({ usage }: Answer): Fields {
  if (usage === undefined) return {};
  return {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    server_tool_use: null,
  };
}

function outputUsage({ usage }: Answer): Fields {
  if (usage === undefined) return {};
  return { output_tokens: usage.output, output_tokens_details: { thinking_tokens: usage.reasoning } };
}

/** The parts of the cache writes, and what else message_delta leaves out. */
function lifetimes({ usage, request }: Answer): Fields {
  if (usage === undefined) return {};
  const hour = request.cacheWrite === '1h' ? usage.cacheWrite : 0;
  return {
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite - hour, ephemeral_1h_input_tokens: hour },
    service_tier: 'standard',
  };
}

/** The content block that a part becomes. `text` may be less than all of it. */
function blockOf(part: Part, { id }: MockContext, text: string): Fields {
  if (part.kind === 'thinking')
    return { type: 'thinking', thinking: text, signature: text === '' ? '' : signature(id) };
  if (part.kind === 'text') return { type: 'text', text, citations: null };
  const input = text === '' ? {} : parseJson(text)?.value;
  return { type: 'tool_use', id: `toolu_${id}`, name: part.tool.name, input, caller: { type: 'direct' } };
}

/** In the form of a host's own. Nobody checks it. */
function signature(id: string): string {
  return Buffer.from(`reasoning of ${id}`).toString('base64');
}

function startStream(answer: Answer): StreamWriter {
  const { context, parts, ending, usage } = answer;
  const delta = (index: number, change: Fields) => typedEvent({ type: 'content_block_delta', index, delta: change });
  return {
    start: () => {
      const message = messageOf(answer, [], null, usage === undefined ? {} : { output_tokens: 1 });
      return typedEvent({ type: 'message_start', message }) + typedEvent({ type: 'ping' });
    },
    open: (part) =>
      typedEvent({
        type: 'content_block_start',
        index: parts.indexOf(part),
        content_block: blockOf(part, context, ''),
      }),
    piece: (part, text) => delta(parts.indexOf(part), deltaOf(part, text)),
    close: (part) => {
      const index = parts.indexOf(part);
      const signed = { type: 'signature_delta', signature: signature(context.id) };
      return (part.kind === 'thinking' ? delta(index, signed) : '') + typedEvent({ type: 'content_block_stop', index });
    },
    end: () => {
      const stop = { stop_reason: STOP_REASONS[ending], stop_sequence: null, stop_details: null, container: null };
      const final = { type: 'message_delta', delta: stop, usage: { ...inputUsage(answer), ...outputUsage(answer) } };
      return typedEvent(final) + typedEvent({ type: 'message_stop' });
    },
    failure: (message) => typedEvent(errorFields(500, message, context)),
  };
}

function deltaOf(part: Part, text: string): Fields {
  if (part.kind === 'thinking') return { type: 'thinking_delta', thinking: text };
  if (part.kind === 'text') return { type: 'text_delta', text };
  return { type: 'input_json_delta', partial_json: text };
}
