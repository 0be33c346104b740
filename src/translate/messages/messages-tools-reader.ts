/** Reads tools and the tool choice. */
import { unexpectedTag } from '../../core/host-tools.ts';
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import { leftOutAs, UNRUNNABLE } from '../left-out-tools.ts';
import type { OfferedTool, ToolChoice } from '../request.ts';
import type { HostTerms } from '../translation.ts';
import { expectFields } from './messages-parts-reader.ts';

export interface Tools {
  readonly tools: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
  readonly parallelCalls: boolean | undefined;
}

export function readTools(fields: Fields, { ignoreTools }: HostTerms, findings: Findings): Tools {
  const list = findings.array(fields.tools, 'tools');
  const tools = list.flatMap((tool, index) => readTool(tool, `tools[${index}]`, ignoreTools, findings) ?? []);
  const choice = findings.object(fields.tool_choice, 'tool_choice');
  return {
    tools,
    choice: choice === undefined ? undefined : readChoice(choice, tools, findings),
    parallelCalls: choice?.disable_parallel_tool_use === true ? false : undefined,
  };
}

const TOOL_FIELDS: readonly string[] = [
  ...['type', 'name', 'description', 'input_schema', 'strict'],
  ...['allowed_callers', 'defer_loading', 'eager_input_streaming'],
];
/** Optimizations of size and streaming, without an effect on possible calls. */
const IGNORED_FIELDS: readonly string[] = ['defer_loading', 'eager_input_streaming'];

/** Returns undefined for a dropped or refused tool. */
function readTool(
  value: unknown,
  where: string,
  ignoreTools: readonly string[],
  findings: Findings,
): OfferedTool | undefined {
  const tool = findings.object(value ?? '', where);
  if (tool === undefined) return undefined;
  const { type, name, description, input_schema: schema, strict, allowed_callers: callers } = tool;
  const leftOut = leftOutAs(type, ignoreTools);
  if (leftOut !== undefined) {
    findings.ignore(leftOut);
    return undefined;
  }
  if ((type ?? 'custom') !== 'custom') {
    findings.refuse(`${where}.type`, `${unexpectedTag(printableName(String(type)))}: expected custom: ${UNRUNNABLE}`);
  }
  expectFields(TOOL_FIELDS, tool, where, findings);
  for (const field of IGNORED_FIELDS) if (tool[field] === true) findings.ignore(`tools.${field}`);
  const hostName = findings.text(name, `${where}.name`);
  const hasDescription = description !== undefined && description !== null;
  if (!isObject(schema)) findings.refuse(`${where}.input_schema`, 'expected an object');
  if (Array.isArray(callers) && !callers.includes('direct')) {
    findings.refuse(`${where}.allowed_callers`, 'this model calls tools directly; include direct');
  }
  return {
    hostName,
    description: hasDescription ? findings.text(description, `${where}.description`) : undefined,
    parameters: isObject(schema) ? schema : undefined,
    strict: findings.flag(strict, `${where}.strict`),
  };
}

function readChoice(choice: Fields, tools: readonly OfferedTool[], findings: Findings): ToolChoice | undefined {
  expectFields(['type', 'name', 'disable_parallel_tool_use'], choice, 'tool_choice', findings);
  const { type, name } = choice;
  switch (type) {
    case 'auto':
    case 'none':
      return { kind: type };
    case 'any':
      if (tools.length === 0) findings.refuse('tool_choice', 'this model can call none of the tools');
      return { kind: 'required' };
    case 'tool': {
      const tool = tools.find(({ hostName }) => hostName === name);
      if (tool === undefined) findings.refuse('tool_choice.name', 'this model can call no such tool');
      return tool && { kind: 'named', hostName: tool.hostName };
    }
    default:
      findings.refuse('tool_choice.type', 'expected auto, any, none or tool');
      return undefined;
  }
}
