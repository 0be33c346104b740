/** The mock provider's requests and answers in the responses dialect. */
import { isObject, objectsIn } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import {
  type Answer,
  errorJson,
  type MockDialect,
  type MockUsage,
  type Part,
  type StreamWriter,
  typedEvent,
} from './answer.ts';
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

export const RESPONSES_MOCK: MockDialect = {
  idPrefix: 'resp_',
  read,
  errorBody: errorJson,
  wholeBody: (answer) => JSON.stringify(finalResponse(answer)),
  startStream,
};

function read({ input, tools, tool_choice: choice, text }: Fields): Reading {
  const items: readonly Fields[] = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsIn(input);
  return {
    ...readTurns(items.flatMap(turnsIn)),
    messages: items.length,
    tools: objectsIn(tools).flatMap((tool) => readTool(tool)),
    choice: toolChoiceIn(choice, ({ name, tools: allowed }) =>
      allowed === undefined ? [name] : objectsIn(allowed).map((tool) => tool.name),
    ),
    ...jsonFormatIn(isObject(text) ? text.format : undefined),
  };
}

function turnsIn({ type = 'message', role, content }: Fields): readonly Turn[] {
  if (type === 'message') return role === 'user' ? promptsIn(content) : [];
  return typeof type === 'string' && type.endsWith('_call_output') ? [RESULT] : [];
}

/** The tools in a namespace are called by its name and their own. */
function readTool(tool: Fields, namespace?: string): MockTool[] {
  const { type } = tool;
  const name = String(tool.name ?? type);
  if (type === 'namespace') return objectsIn(tool.tools).flatMap((member) => readTool(member, name));
  const kind = type === 'function' || type === 'custom' ? type : 'host';
  return [{ name, kind, schema: tool.parameters, ...(namespace !== undefined && { namespace }) }];
}

/** How a part is streamed. */
interface PartEvents {
  /** Its text comes in `<name>.delta` events, and as a whole in the field of a `<name>.done` event. */
  readonly name: string;
  readonly field: string;
  /** What these events and those of its container have. */
  readonly place: Fields;
  /** What only those two kinds of events have. */
  readonly extra: Fields;
  /** The prefix of the events of the container within the item, if there is one. */
  readonly container?: string;
}

const PART_EVENTS: Readonly<Record<'text' | 'thinking' | 'function' | 'custom', PartEvents>> = {
  text: {
    name: 'response.output_text',
    field: 'text',
    place: { content_index: 0 },
    extra: { logprobs: [] },
    container: 'response.content_part',
  },
  thinking: {
    name: 'response.reasoning_summary_text',
    field: 'text',
    place: { summary_index: 0 },
    extra: {},
    container: 'response.reasoning_summary_part',
  },
  function: { name: 'response.function_call_arguments', field: 'arguments', place: {}, extra: {} },
  custom: { name: 'response.custom_tool_call_input', field: 'input', place: {}, extra: {} },
};

function eventsOf(part: Part): PartEvents {
  if (part.kind !== 'call') return PART_EVENTS[part.kind];
  return PART_EVENTS[part.tool.kind === 'custom' ? 'custom' : 'function'];
}

function startStream(answer: Answer): StreamWriter {
  let sequence = 0;
  const event = (type: string, fields: Fields) => typedEvent({ type, sequence_number: sequence++, ...fields });
  /** An event of an item, with the item's place in the response. */
  const itemEvent = (type: string, part: Part, fields: Fields) =>
    event(type, { output_index: answer.parts.indexOf(part), ...fields });
  const innerEvent = (type: string, part: Part, fields: Fields) =>
    itemEvent(type, part, { item_id: itemOf(answer, part, 'in_progress').id, ...eventsOf(part).place, ...fields });
  const containerEvent = (step: 'added' | 'done', part: Part, text: string) => {
    const { container } = eventsOf(part);
    return container === undefined ? '' : innerEvent(`${container}.${step}`, part, { part: containerOf(part, text) });
  };
  const done: Part[] = [];
  return {
    start: () => {
      const response = responseOf(answer, { status: 'in_progress', output: [], usage: null });
      return event('response.created', { response }) + event('response.in_progress', { response });
    },
    open: (part) =>
      itemEvent('response.output_item.added', part, { item: itemOf(answer, part, 'in_progress') }) +
      containerEvent('added', part, ''),
    piece: (part, delta) => innerEvent(`${eventsOf(part).name}.delta`, part, { delta, ...eventsOf(part).extra }),
    close: (part) => {
      const { name, field, extra } = eventsOf(part);
      const text = part.pieces.join('');
      done.push(part);
      return (
        innerEvent(`${name}.done`, part, { [field]: text, ...extra }) +
        containerEvent('done', part, text) +
        itemEvent('response.output_item.done', part, { item: finalItem(answer, part) })
      );
    },
    end: () => {
      const response = finalResponse(answer);
      return event(`response.${response.status}`, { response });
    },
    failure: (message) => {
      const output = done.map((part) => finalItem(answer, part));
      const response = responseOf(answer, { status: 'failed', output, usage: null });
      return event('response.failed', { response: { ...response, error: { code: 'server_error', message } } });
    },
  };
}

/** What holds the text within an item that has more than one of them. */
function containerOf(part: Part, text: string): Fields {
  return part.kind === 'thinking'
    ? { type: 'summary_text', text }
    : { type: 'output_text', annotations: [], logprobs: [], text };
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The output item that a part becomes. It is empty while it is in progress. */
function itemOf(
  { context: { id }, request }: Answer,
  part: Part,
  status: ItemStatus,
): Fields & { readonly id: string } {
  const text = status === 'in_progress' ? '' : part.pieces.join('');
  const containers = status === 'in_progress' ? [] : [containerOf(part, text)];
  if (part.kind === 'text') {
    return { id: `msg_${id}`, type: 'message', status, content: containers, role: 'assistant' };
  }
  if (part.kind === 'thinking') {
    const { include } = request.body.fields;
    const isEncrypted = Array.isArray(include) && include.includes('reasoning.encrypted_content');
    const encrypted = isEncrypted && { encrypted_content: Buffer.from(text).toString('base64') };
    return { id: `rs_${id}`, type: 'reasoning', summary: containers, ...encrypted };
  }
  const { name, namespace, kind } = part.tool;
  const call = { call_id: `call_${id}`, name, ...(namespace !== undefined && { namespace }), status };
  return kind === 'custom'
    ? { id: `ctc_${id}`, type: 'custom_tool_call', input: text, ...call }
    : { id: `fc_${id}`, type: 'function_call', arguments: text, ...call };
}

function finalItem(answer: Answer, part: Part): Fields {
  const isCut = answer.ending === 'length' && part === answer.parts.at(-1);
  return itemOf(answer, part, isCut ? 'incomplete' : 'completed');
}

function finalResponse(answer: Answer): Fields & { readonly status: string } {
  const { parts, ending, usage } = answer;
  const isCut = ending === 'length';
  const response = responseOf(answer, {
    status: isCut ? 'incomplete' : 'completed',
    output: parts.map((part) => finalItem(answer, part)),
    usage: usage === undefined ? null : usageFields(usage),
  });
  return isCut ? { ...response, incomplete_details: { reason: 'max_output_tokens' } } : response;
}

interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly Fields[];
  readonly usage: Fields | null;
}

/** Hosts repeat the settings of the request. */
function responseOf({ request, context }: Answer, { status, output, usage }: ResponseState) {
  const { fields } = request.body;
  return {
    id: context.id,
    object: 'response',
    created_at: context.createdS,
    status,
    background: false,
    error: null,
    incomplete_details: null as Fields | null,
    instructions: fields.instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    max_tool_calls: fields.max_tool_calls ?? null,
    metadata: fields.metadata ?? {},
    model: request.model,
    output,
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: fields.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...(isObject(fields.reasoning) && fields.reasoning) },
    store: false,
    temperature: fields.temperature ?? 1,
    text: { format: { type: 'text' }, ...(isObject(fields.text) && fields.text) },
    tool_choice: fields.tool_choice ?? 'auto',
    tools: fields.tools ?? [],
    top_p: fields.top_p ?? 1,
    truncation: fields.truncation ?? 'disabled',
    usage,
    user: fields.user ?? null,
  };
}

function usageFields({ input, output, cacheRead, cacheWrite, reasoning }: MockUsage): Fields {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
