/** Reads the tools of a chat request and `tool_choice`. */
import { isObject, objectOf } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { customParameters } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import type { OfferedTool, ToolChoice } from '../request.ts';
import { ToolNames } from '../tool-names.ts';
import { readCacheControl } from './cache-control.ts';

export interface Tools {
  readonly offered: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
  readonly parallelCalls: boolean | undefined;
  readonly names: ToolNames;
  /** Whether the request uses `functions`: the answer has at most one call, in the deprecated form. */
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

/** Applies `allowed_tools` by removing all other tools, because few hosts support subsets. */
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

/** Placeholder for a refused tool. */
const NO_TOOL: OfferedTool = { hostName: '', description: undefined, parameters: undefined, strict: undefined };

/** Reads `tools`. Adds custom tools to `names`. */
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

/** Reads a schema, which must describe an object. */
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
    isObject(format) && format.type === 'grammar' ? { ...objectOf(format.grammar), type: format.type } : format;
  return {
    parameters: customParameters(grammar, `${where}.format`, findings),
    ...readNames(definition, where, findings),
    strict: undefined,
  };
}

/** `named`: the model must call the named tool. */
interface NamedChoice {
  readonly kind: 'auto' | 'none' | 'required' | 'named';
  /** The named tools with their paths. */
  readonly names: readonly { readonly name: string; readonly where: string }[];
  /** Whether only the named tools may be called. */
  readonly isSubset: boolean;
}

const AUTO: NamedChoice = { kind: 'auto', names: [], isSubset: false };

/** `isFunctionCall`: whether the request uses the deprecated fields. */
function readToolChoice(request: Fields, isFunctionCall: boolean, findings: Findings): NamedChoice {
  const [field, other] = isFunctionCall ? ['function_call', 'tool_choice'] : ['tool_choice', 'function_call'];
  const unused = request[other];
  if (unused !== undefined && unused !== null && unused !== 'auto' && unused !== 'none') {
    findings.refuse(other, `expected ${field} beside ${isFunctionCall ? 'functions' : 'tools'}`);
  }
  const value = request[field] ?? 'auto';
  if (value === 'auto' || value === 'none') return { ...AUTO, kind: value };
  if (isFunctionCall) return readNamed(value, 'function_call', findings);
  if (value === 'required') return { ...AUTO, kind: 'required' };
  if (isObject(value) && value.type === 'allowed_tools') return readAllowed(value, findings);
  return readNamed(definitionIn(value, 'tool_choice', findings), 'tool_choice', findings);
}

/** Returns the definition in `{type, <type>: {name}}`. */
function definitionIn(value: unknown, where: string, findings: Findings): unknown {
  if (!isObject(value) || (value.type !== 'function' && value.type !== 'custom')) return undefined;
  findings.expectOnly(new Set(['type', value.type]), value, where);
  return value[value.type];
}

const NAME: ReadonlySet<string> = new Set(['name']);

function readNamed(definition: unknown, where: string, findings: Findings): NamedChoice {
  if (isObject(definition) && typeof definition.name === 'string') {
    findings.expectOnly(NAME, definition, where);
    return { kind: 'named', names: [{ name: definition.name, where }], isSubset: false };
  }
  findings.refuse(where, 'expected auto, none, required, or a tool by its type and name');
  return AUTO;
}

const MODES: readonly unknown[] = ['auto', 'required'];
const ALLOWED_FIELDS: ReadonlySet<string> = new Set(['mode', 'tools']);

function readAllowed(choice: Fields, findings: Findings): NamedChoice {
  const where = 'tool_choice.allowed_tools';
  findings.expectOnly(new Set(['type', 'allowed_tools']), choice, 'tool_choice');
  const allowed = objectOf(choice.allowed_tools);
  findings.expectOnly(ALLOWED_FIELDS, allowed, where);
  const { mode, tools } = allowed;
  if (!MODES.includes(mode)) findings.refuse(`${where}.mode`, 'expected auto or required');
  if (!Array.isArray(tools) || tools.length === 0) {
    findings.refuse(`${where}.tools`, 'expected an array of at least one tool');
    return AUTO;
  }
  const names = tools.flatMap((tool, index) => {
    const at = `${where}.tools[${index}]`;
    return readNamed(definitionIn(tool, at, findings), at, findings).names;
  });
  return { kind: mode === 'required' ? 'required' : 'auto', names, isSubset: true };
}
