/** Reads which of the tools of a responses request the model may or must call. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { Choice, OfferedTool } from '../request.ts';
import { isHosted, type Tools } from './responses-tools-reader.ts';
import { expectShape, shapeOf } from './shape.ts';

/** The tools that the model may call, and what it must call. */
export interface ChosenTools {
  readonly offered: readonly OfferedTool[];
  readonly choice: Choice | undefined;
}

const NAMED = shapeOf('tool_choice', 'type name namespace');
const ALLOWED = shapeOf('tool_choice', 'type mode tools');

/** Few hosts know `allowed_tools`, so the others are not offered. */
export function readToolChoice({ tool_choice: value }: Fields, tools: Tools, findings: Findings): ChosenTools {
  const { offered } = tools;
  if (value === undefined || value === null || value === 'auto') return { offered, choice: undefined };
  if (value === 'none') return { offered, choice: { kind: 'none' } };
  if (value === 'required') {
    if (offered.length === 0) findings.refuse('tool_choice', requiredProblem(tools));
    return { offered, choice: { kind: 'required' } };
  }
  if (isObject(value) && value.type === 'allowed_tools') return readAllowed(value, tools, findings);
  const hostName = readNamed(value, 'tool_choice', tools, findings);
  return { offered, choice: hostName === undefined ? undefined : { kind: 'named', hostName } };
}

function requiredProblem({ leftOut }: Tools): string {
  const hint = leftOut.length === 0 ? '' : `; the provider of this model cannot run ${leftOut.join(', ')}`;
  return `expected tools to choose from${hint}`;
}

function readAllowed(value: Fields, tools: Tools, findings: Findings): ChosenTools {
  expectShape(ALLOWED, value, 'tool_choice', findings);
  if (value.mode !== 'auto' && value.mode !== 'required') {
    findings.refuse('tool_choice.mode', 'expected auto or required');
  }
  if (!Array.isArray(value.tools)) findings.refuse('tool_choice.tools', 'expected an array');
  const list: readonly unknown[] = Array.isArray(value.tools) ? value.tools : [];
  const names = new Set<string | undefined>();
  for (const [index, tool] of list.entries()) {
    // Left out, like the tool itself.
    if (isObject(tool) && isHosted(tool.type)) findings.ignore('tool_choice.tools');
    else names.add(readNamed(tool, `tool_choice.tools[${index}]`, tools, findings));
  }
  const offered = tools.offered.filter(({ hostName }) => names.has(hostName));
  if (value.mode === 'required' && offered.length === 0) findings.refuse('tool_choice.tools', requiredProblem(tools));
  return { offered, choice: value.mode === 'required' ? { kind: 'required' } : undefined };
}

/** The name at the host of a tool that the request names. */
function readNamed(value: unknown, where: string, { names }: Tools, findings: Findings): string | undefined {
  const type = isObject(value) ? value.type : undefined;
  if (!isObject(value) || (type !== 'function' && type !== 'custom')) {
    const given = typeof type === 'string' ? `, not ${printableName(type)}` : '';
    findings.refuse(where, `expected auto, none, required, or a function or custom tool by its name${given}`);
    return undefined;
  }
  expectShape(NAMED, value, where, findings);
  const name = findings.text(value.name, `${where}.name`);
  const namespace = typeof value.namespace === 'string' ? value.namespace : undefined;
  const hostName = names.hostName(name, namespace);
  if (names.isOffered(hostName)) return hostName;
  findings.refuse(`${where}.name`, `no tool has the name ${printableName(name)}`);
  return undefined;
}
