/** Translates tools, and which of them the model is to call. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Notes, present } from './notes.ts';

/** Fields of the chat-completions request. */
export interface ToolFields {
  readonly tools?: readonly Fields[];
  readonly tool_choice?: unknown;
  readonly parallel_tool_calls?: boolean;
}

export function translateTools(fields: Fields, notes: Notes): ToolFields {
  const tools = notes.array(fields.tools, 'tools');
  const functions = tools.flatMap<Fields>((tool, index) => translateTool(tool, `tools[${index}]`, notes) ?? []);
  const choice = notes.object(fields.tool_choice, 'tool_choice');
  const choiceFields = choice === undefined ? {} : translateChoice(choice, functions, notes);
  // Without tools, nothing may be said about the choice between them.
  return functions.length === 0 ? {} : { tools: functions, ...choiceFields };
}

/** Tools that only the client's own host can run, by version or without. Their names are listed as left out. */
const HOST_TOOL =
  /^(?<name>web_search|web_fetch|code_execution|tool_search|advisor)(?:_tool_(?:regex|bm25))?(?:_\d{8})?$/;

const TOOL_FIELDS: readonly string[] = [
  ...['type', 'name', 'description', 'input_schema', 'strict'],
  ...['allowed_callers', 'defer_loading', 'eager_input_streaming'],
];
/** They make requests smaller and streams finer, and change nothing that a model may call. */
const IGNORED_FIELDS: readonly string[] = ['defer_loading', 'eager_input_streaming'];

/** Undefined for a tool that is left out or refused. */
function translateTool(value: unknown, where: string, notes: Notes): Fields | undefined {
  const tool = notes.object(value ?? '', where);
  if (tool === undefined) return undefined;
  const { type, name, description, input_schema: schema, strict, allowed_callers: callers } = tool;
  const hostTool = typeof type === 'string' ? HOST_TOOL.exec(type)?.groups?.name : undefined;
  if (hostTool !== undefined) {
    notes.ignore(hostTool);
    return undefined;
  }
  if ((type ?? 'custom') !== 'custom') {
    notes.refuse(`${where}.type`, 'this model knows no such tool; declare it as a custom tool with an input_schema');
  }
  notes.allow(TOOL_FIELDS, tool, where);
  for (const field of IGNORED_FIELDS) if (tool[field] === true) notes.ignore(`tools.${field}`);
  notes.text(name, `${where}.name`);
  if (!isObject(schema)) notes.refuse(`${where}.input_schema`, 'expected an object');
  if (Array.isArray(callers) && !callers.includes('direct')) {
    notes.refuse(`${where}.allowed_callers`, 'this model calls tools directly; include direct');
  }
  return { type: 'function', function: present({ name, description, parameters: schema, strict }) };
}

function translateChoice(choice: Fields, functions: readonly Fields[], notes: Notes): ToolFields {
  notes.allow(['type', 'name', 'disable_parallel_tool_use'], choice, 'tool_choice');
  const parallel = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  if (choice.type === 'auto' || choice.type === 'none') return { tool_choice: choice.type, ...parallel };
  if (choice.type === 'any') {
    if (functions.length === 0) notes.refuse('tool_choice', 'this model can call none of the tools');
    return { tool_choice: 'required', ...parallel };
  }
  if (choice.type === 'tool') {
    const { name } = choice;
    const isKnown = functions.some((tool) => (tool.function as Fields).name === name);
    if (!isKnown) notes.refuse('tool_choice.name', 'this model can call no such tool');
    return { tool_choice: { type: 'function', function: { name } }, ...parallel };
  }
  notes.refuse('tool_choice.type', 'expected auto, any, none or tool');
  return {};
}
