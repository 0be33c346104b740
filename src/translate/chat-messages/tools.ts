/** Translates the tools of a chat request, and which of them the model may or must call. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { CUSTOM_INPUT } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import { ToolNames } from '../tool-names.ts';
import { cacheControl } from './cache-control.ts';
import { enforceable } from './schema.ts';
import { type Choice, readToolChoice } from './tool-choice.ts';

/** A tool in the host's dialect. */
type Tool = Fields & { readonly name: string };

/** How the client reads calls. */
export interface CallStyle {
  readonly names: ToolNames;
  /** The request has `functions`: there is one call, in the deprecated `function_call`. */
  readonly isFunctionCall: boolean;
}

export interface TranslatedTools {
  /** The fields `tools` and `tool_choice`, as far as they are needed. */
  readonly fields: Fields;
  readonly style: CallStyle;
}

export function translateTools(request: Fields, findings: Findings): TranslatedTools {
  const names = new ToolNames();
  const { functions, parallel_tool_calls: isParallel } = request;
  if (functions !== undefined && !Array.isArray(functions)) findings.refuse('functions', 'expected an array');
  if (isParallel !== undefined && typeof isParallel !== 'boolean') {
    findings.refuse('parallel_tool_calls', 'expected true or false');
  }
  const isFunctionCall = Array.isArray(functions) && functions.length > 0;
  const tools = isFunctionCall ? readFunctions(request, findings) : readTools(request.tools, names, findings);
  const choice = readToolChoice(request, isFunctionCall, findings);
  // In the deprecated form there is only one call in an answer.
  const isSerial = isFunctionCall || isParallel === false;
  return { fields: fieldsOf(tools, choice, isSerial, findings), style: { names, isFunctionCall } };
}

function fieldsOf(tools: readonly Tool[], choice: Choice, isSerial: boolean, findings: Findings): Fields {
  const known = new Set(tools.map(({ name }) => name));
  for (const { name, where } of choice.names) {
    if (!known.has(name)) findings.refuse(where, `no tool has the name ${printableName(name)}`);
  }
  if (tools.length === 0) {
    if (choice.kind !== 'auto' && choice.kind !== 'none')
      findings.refuse('tool_choice', 'expected tools to choose from');
    return {};
  }
  if (choice.kind === 'none') return { tools, tool_choice: { type: 'none' } };
  const serial = isSerial && { disable_parallel_tool_use: true };
  const [first] = choice.names;
  if (choice.kind === 'named') return { tools, tool_choice: { type: 'tool', name: first?.name, ...serial } };
  const named = new Set(choice.names.map(({ name }) => name));
  const allowed = choice.isSubset ? tools.filter(({ name }) => named.has(name)) : tools;
  if (choice.kind === 'required') return { tools: allowed, tool_choice: { type: 'any', ...serial } };
  return { tools: allowed, ...(serial && { tool_choice: { type: 'auto', ...serial } }) };
}

function readFunctions({ functions, tools }: Fields, findings: Findings): readonly Tool[] {
  if (Array.isArray(tools) && tools.length > 0) findings.refuse('functions', 'expected tools or functions, not both');
  const list = Array.isArray(functions) ? functions : [];
  return list.map((item, index) => readFunction(item, {}, `functions[${index}]`, findings));
}

/** Adds custom tools to `names`. */
function readTools(value: unknown, names: ToolNames, findings: Findings): readonly Tool[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.map((tool, index) => {
    const where = `tools[${index}]`;
    const type = isObject(tool) ? (tool.type ?? 'function') : undefined;
    if (!isObject(tool) || (type !== 'function' && type !== 'custom')) {
      findings.refuse(
        `${where}.type`,
        'expected function or custom; the provider of this model cannot run other tools',
      );
      return { name: '' };
    }
    findings.expectOnly(new Set(['type', type, 'cache_control']), tool, where);
    const mark = cacheControl(tool.cache_control, where, findings);
    if (type === 'function') return readFunction(tool.function, mark, `${where}.function`, findings);
    const custom = readCustom(tool.custom, mark, `${where}.custom`, findings);
    names.add({ kind: 'custom', name: custom.name, namespace: undefined });
    return custom;
  });
}

const FUNCTION_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict', 'cache_control']);

/** `more`: further fields of the tool. */
function readFunction(definition: unknown, more: Fields, where: string, findings: Findings): Tool {
  if (!isObject(definition)) {
    findings.refuse(where, 'expected an object with a name');
    return { name: '' };
  }
  findings.expectOnly(FUNCTION_FIELDS, definition, where);
  const { parameters, strict } = definition;
  const isStrict = strict === true;
  if (!isStrict && strict !== false && strict !== undefined && strict !== null) {
    findings.refuse(`${where}.strict`, 'expected true or false');
  }
  const schema = readParameters(parameters, `${where}.parameters`, findings);
  return {
    ...readNames(definition, where, findings),
    input_schema: isStrict ? enforceable(schema) : schema,
    ...(isStrict && { strict }),
    ...cacheControl(definition.cache_control, where, findings),
    ...more,
  };
}

/** The host wants an object. */
function readParameters(parameters: unknown, where: string, findings: Findings): Fields {
  if (parameters === undefined || parameters === null) return { type: 'object', properties: {} };
  if (!isObject(parameters)) findings.refuse(where, 'expected an object');
  else if (parameters.type === undefined) return { type: 'object', ...parameters };
  else if (parameters.type === 'object') return parameters;
  else findings.refuse(`${where}.type`, 'expected object');
  return {};
}

function readNames({ name, description }: Fields, where: string, findings: Findings): Tool {
  const hasDescription = description !== undefined && description !== null;
  return {
    name: findings.text(name, `${where}.name`),
    ...(hasDescription && { description: findings.text(description, `${where}.description`) }),
  };
}

const CUSTOM_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'format']);

function readCustom(definition: unknown, more: Fields, where: string, findings: Findings): Tool {
  if (!isObject(definition)) {
    findings.refuse(where, 'expected an object with a name');
    return { name: '' };
  }
  findings.expectOnly(CUSTOM_FIELDS, definition, where);
  const field = { type: 'string', description: readFormat(definition.format, `${where}.format`, findings) };
  return {
    ...readNames(definition, where, findings),
    input_schema: {
      type: 'object',
      properties: { [CUSTOM_INPUT]: field },
      required: [CUSTOM_INPUT],
      additionalProperties: false,
    },
    ...more,
  };
}

/** Says the format of a custom tool's text. No host of the dialect enforces grammars. */
function readFormat(format: unknown, where: string, findings: Findings): string {
  if (format === undefined || format === null) return 'The text that the tool takes.';
  if (isObject(format) && format.type === 'text') return 'The text that the tool takes.';
  const grammar = isObject(format) && format.type === 'grammar' ? format.grammar : undefined;
  if (isObject(grammar) && typeof grammar.syntax === 'string' && typeof grammar.definition === 'string') {
    return `The text that the tool takes. It must match this grammar (${grammar.syntax}):\n${grammar.definition}`;
  }
  findings.refuse(where, 'expected the type text, or grammar with a syntax and a definition');
  return '';
}
