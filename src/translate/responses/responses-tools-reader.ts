/** Reads function and custom tools of a responses request. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { customParameters } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import { leftOutAs, UNRUNNABLE } from '../left-out-tools.ts';
import type { OfferedTool, ToolChoice } from '../request.ts';
import { ToolNames } from '../tool-names.ts';
import type { HostTerms } from '../translation.ts';
import { expectShape, shapeOf, shownType } from './shape.ts';

export interface Tools {
  readonly offered: readonly OfferedTool[];
  readonly names: ToolNames;
  /** Types of dropped tools, which only the client's own host could run. */
  readonly leftOut: readonly string[];
  readonly ignoreTools: readonly string[];
}

const ADDITIONAL_TOOLS = shapeOf('input', 'type id role tools');

/** Reads `tools`, and input items that add tools. */
export function readTools({ tools, input }: Fields, { ignoreTools }: HostTerms, findings: Findings): Tools {
  const reader = new ToolReader(ignoreTools, findings);
  reader.readList(tools, 'tools');
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    if (!isObject(item) || item.type !== 'additional_tools') continue;
    expectShape(ADDITIONAL_TOOLS, item, `input[${index}]`, findings);
    reader.readList(item.tools, `input[${index}].tools`);
  }
  for (const type of reader.leftOut) findings.ignore(`tools.${type}`);
  return { offered: reader.offered, names: reader.names, leftOut: [...reader.leftOut], ignoreTools };
}

/** Namespace of a tool. */
interface Namespace {
  readonly name: string;
  /** Set for the first tool of the namespace, empty for others. */
  readonly description: string;
}

const LEFT_OUT = 'defer_loading output_schema async allowed_callers';
const FUNCTION = shapeOf('tools', 'type name description parameters strict', LEFT_OUT);
const CUSTOM = shapeOf('tools', 'type name description format', LEFT_OUT);
const NAMESPACE = shapeOf('tools', 'type name description tools', LEFT_OUT);

class ToolReader {
  readonly offered: OfferedTool[] = [];
  readonly names = new ToolNames();
  readonly leftOut = new Set<string>();
  readonly #ignoreTools: readonly string[];
  readonly #findings: Findings;

  constructor(ignoreTools: readonly string[], findings: Findings) {
    this.#ignoreTools = ignoreTools;
    this.#findings = findings;
  }

  readList(tools: unknown, where: string): void {
    if (tools === undefined || tools === null) return;
    if (!Array.isArray(tools)) this.#findings.refuse(where, 'expected an array');
    else for (const [index, tool] of tools.entries()) this.#read(tool, `${where}[${index}]`, undefined);
  }

  #read(tool: unknown, where: string, namespace: Namespace | undefined): void {
    if (!isObject(tool)) return this.#findings.refuse(where, 'expected an object');
    const { type } = tool;
    if (type === 'function') this.#readFunction(tool, where, namespace);
    else if (type === 'custom') this.#readCustom(tool, where, namespace);
    else if (type === 'namespace' && namespace === undefined) this.#readNamespace(tool, where);
    else this.#readOther(tool, where);
  }

  #readOther(tool: Fields, where: string): void {
    const leftOut = leftOutAs(tool.type, this.#ignoreTools);
    if (leftOut !== undefined) this.leftOut.add(leftOut);
    else this.#findings.refuse(`${where}.type`, `expected ${OFFERABLE}, not ${shownType(tool)}: ${UNRUNNABLE}`);
  }

  #readNamespace(tool: Fields, where: string): void {
    expectShape(NAMESPACE, tool, where, this.#findings);
    const name = this.#findings.text(tool.name, `${where}.name`);
    if (!Array.isArray(tool.tools)) return this.#findings.refuse(`${where}.tools`, 'expected an array');
    const description = this.#description(tool, where);
    for (const [index, each] of tool.tools.entries()) {
      this.#read(each, `${where}.tools[${index}]`, { name, description: index === 0 ? description : '' });
    }
  }

  #readFunction(tool: Fields, where: string, namespace: Namespace | undefined): void {
    expectShape(FUNCTION, tool, where, this.#findings);
    const { parameters, strict } = tool;
    const hasParameters = parameters !== undefined && parameters !== null;
    if (hasParameters && !isObject(parameters)) this.#findings.refuse(`${where}.parameters`, 'expected an object');
    this.#offer(tool, where, namespace, {
      description: this.#description(tool, where),
      parameters: isObject(parameters) ? parameters : undefined,
      strict: typeof strict === 'boolean' ? strict : undefined,
    });
  }

  #readCustom(tool: Fields, where: string, namespace: Namespace | undefined): void {
    expectShape(CUSTOM, tool, where, this.#findings);
    this.#offer(tool, where, namespace, {
      description: this.#description(tool, where),
      parameters: customParameters(tool.format, `${where}.format`, this.#findings),
      strict: undefined,
    });
  }

  #offer(
    tool: Fields,
    where: string,
    namespace: Namespace | undefined,
    { description, ...rest }: Omit<OfferedTool, 'hostName' | 'description'> & { readonly description: string },
  ): void {
    const name = this.#findings.text(tool.name, `${where}.name`);
    const kind = tool.type === 'custom' ? 'custom' : 'function';
    const hostName = this.names.add({ kind, name, namespace: namespace?.name });
    const texts = [namespace?.description ?? '', description].filter((text) => text !== '');
    this.offered.push({ hostName, description: texts.length === 0 ? undefined : texts.join('\n\n'), ...rest });
  }

  #description({ description }: Fields, where: string): string {
    const isAbsent = description === undefined || description === null;
    return isAbsent ? '' : this.#findings.text(description, `${where}.description`);
  }
}

const OFFERABLE = 'function, custom or namespace';

/** The callable tools and the tool choice. */
export interface ChosenTools {
  readonly offered: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
}

const NAMED = shapeOf('tool_choice', 'type name namespace');
const ALLOWED = shapeOf('tool_choice', 'type mode tools');

/** Applies `allowed_tools` by removing all other tools, because few hosts support it. */
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
    // Ignored together with the tool.
    if (isObject(tool) && leftOutAs(tool.type, tools.ignoreTools) !== undefined) findings.ignore('tool_choice.tools');
    else names.add(readNamed(tool, `tool_choice.tools[${index}]`, tools, findings));
  }
  const offered = tools.offered.filter(({ hostName }) => names.has(hostName));
  if (value.mode === 'required' && offered.length === 0) findings.refuse('tool_choice.tools', requiredProblem(tools));
  return { offered, choice: value.mode === 'required' ? { kind: 'required' } : undefined };
}

/** Returns the host's name of a named tool. */
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
