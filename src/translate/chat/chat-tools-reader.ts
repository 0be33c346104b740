/** Reads the tools of a chat request, and which of them the model may or must call. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { customParameters } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import type { Choice, OfferedTool } from '../request.ts';
import { ToolNames } from '../tool-names.ts';
import { readCacheControl } from './cache-control.ts';
import { type NamedChoice, readToolChoice } from './chat-tool-choice-reader.ts';

/** What is read of the tools. */
export interface Tools {
  readonly offered: readonly OfferedTool[];
  readonly choice: Choice | undefined;
  readonly parallelCalls: boolean | undefined;
  readonly names: ToolNames;
  /** The request has `functions`: there is one call in an answer, in the deprecated form. */
  readonly isFunctionCall: boolean;
}

export function readTools(request: Fields, findings: Findings): Tools {
  const names = new ToolNames();
  const functions = findings.array(request.functions, 'functions');
  const isParallel = findings.flag(request.parallel_tool_calls, 'parallel_tool_calls');
  const isFunctionCall = functions.length > 0;
  const tools = isFunctionCall ? readFunctions(request, functions, findings) : readList(request.tools, names, findings);
  const choice = readToolChoice(request, isFunctionCall, findings);
  return {
    ...chosen(tools, choice, findings),
    parallelCalls: isFunctionCall ? false : isParallel,
    names,
    isFunctionCall,
  };
}

/** Few hosts know subsets of tools, so the others are not offered. */
function chosen(
  tools: readonly OfferedTool[],
  { kind, names, isSubset }: NamedChoice,
  findings: Findings,
): Pick<Tools, 'offered' | 'choice'> {
  const known = new Set(tools.map(({ hostName }) => hostName));
  for (const { name, where } of names) {
    if (!known.has(name)) findings.refuse(where, `no tool has the name ${printableName(name)}`);
  }
  if (tools.length === 0 && kind !== 'auto' && kind !== 'none') {
    findings.refuse('tool_choice', 'expected tools to choose from');
  }
  const [first] = names;
  if (kind === 'named') return { offered: tools, choice: { kind, hostName: first?.name ?? '' } };
  const named = new Set(names.map(({ name }) => name));
  return { offered: isSubset ? tools.filter(({ hostName }) => named.has(hostName)) : tools, choice: { kind } };
}

function readFunctions({ tools }: Fields, functions: readonly unknown[], findings: Findings): readonly OfferedTool[] {
  if (Array.isArray(tools) && tools.length > 0) findings.refuse('functions', 'expected tools or functions, not both');
  return functions.map((item, index) => readFunction(item, `functions[${index}]`, findings));
}

/** A tool that is refused. */
const NO_TOOL: OfferedTool = { hostName: '', description: undefined, parameters: undefined, strict: undefined };

/** Adds custom tools to `names`. */
function readList(value: unknown, names: ToolNames, findings: Findings): readonly OfferedTool[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.map((tool, index) => {
    const where = `tools[${index}]`;
    const type = isObject(tool) ? (tool.type ?? 'function') : undefined;
    if (!isObject(tool) || (type !== 'function' && type !== 'custom')) {
      findings.refuse(
        `${where}.type`,
        'expected function or custom; the provider of this model cannot run other tools',
      );
      return NO_TOOL;
    }
    findings.expectOnly(new Set(['type', type, 'cache_control']), tool, where);
    const cache = readCacheControl(tool.cache_control, where, findings);
    const read =
      type === 'function'
        ? readFunction(tool.function, `${where}.function`, findings)
        : readCustom(tool.custom, `${where}.custom`, findings);
    if (type === 'custom') names.add({ kind: type, name: read.hostName, namespace: undefined });
    return cache === undefined ? read : { ...read, cache };
  });
}

const FUNCTION_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict', 'cache_control']);

function readFunction(definition: unknown, where: string, findings: Findings): OfferedTool {
  if (!isObject(definition)) {
    findings.refuse(where, 'expected an object with a name');
    return NO_TOOL;
  }
  findings.expectOnly(FUNCTION_FIELDS, definition, where);
  const strict = findings.flag(definition.strict, `${where}.strict`);
  return {
    parameters: readParameters(definition.parameters, `${where}.parameters`, findings),
    ...readNames(definition, where, findings),
    strict,
    cache: readCacheControl(definition.cache_control, where, findings),
  };
}

/** The format has objects only. */
function readParameters(parameters: unknown, where: string, findings: Findings): Fields | undefined {
  const schema = findings.object(parameters, where);
  if (schema?.type !== undefined && schema.type !== 'object') findings.refuse(`${where}.type`, 'expected object');
  return schema;
}

function readNames(
  { name, description }: Fields,
  where: string,
  findings: Findings,
): Pick<OfferedTool, 'hostName' | 'description'> {
  const hasDescription = description !== undefined && description !== null;
  return {
    hostName: findings.text(name, `${where}.name`),
    description: hasDescription ? findings.text(description, `${where}.description`) : undefined,
  };
}

const CUSTOM_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'format']);

function readCustom(definition: unknown, where: string, findings: Findings): OfferedTool {
  if (!isObject(definition)) {
    findings.refuse(where, 'expected an object with a name');
    return NO_TOOL;
  }
  findings.expectOnly(CUSTOM_FIELDS, definition, where);
  const { format } = definition;
  const grammar =
    isObject(format) && format.type === 'grammar' ? { ...fieldsOf(format.grammar), type: format.type } : format;
  return {
    parameters: customParameters(grammar, `${where}.format`, findings),
    ...readNames(definition, where, findings),
    strict: undefined,
  };
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
